// The player: where the page is, as a pure function of what was pressed and of the time that passed.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  advance, isMoving, jumpTo, newPlayer, scrubTo, settle, stepBy, togglePlay, withSpeed, type Player,
} from "../src/player.ts";

const start = (): Player => newPlayer([0, 100, 100, 100], [50, 50, 50, 50], 1);

function run(player: Player, ms: number, each = 10): Player {
  for (let passed = 0; passed < ms; passed += each) player = advance(player, each, false);
  return player;
}

test("a step moves to the next state and stops there", () => {
  const stepped = run(stepBy(start(), 1), 200);
  assert.equal(stepped.position, 1);
  assert.equal(isMoving(stepped), false);
});

test("each press of a key counts, also while a step is on its way", () => {
  const thrice = stepBy(stepBy(stepBy(start(), 1), 1), 1);
  assert.equal(thrice.target, 3);
  assert.equal(stepBy(thrice, 1).target, 3, "the last step is the end");
  assert.equal(stepBy(start(), -1).target, 0, "the first step is the beginning");
});

test("playing shows every step for its time, and ends at the last one", () => {
  let player = togglePlay(start());
  const seen = new Set<number>();
  for (let i = 0; i < 200 && player.playing; ++i) {
    player = advance(player, 10, false);
    if (player.position === player.target) seen.add(player.position);
  }
  assert.deepEqual([...seen], [1, 2, 3]);
  assert.equal(player.playing, false);
  assert.equal(togglePlay(player).position, 0, "play at the end begins anew");
});

test("a long pause of the browser does not skip a step", () => {
  const player = advance(togglePlay(start()), 0, false);
  const late = advance(player, 100000, false);
  assert.equal(late.position, 1);
});

test("stepping back goes through the same positions", () => {
  const back = advance(stepBy(jumpTo(start(), 2), -1), 40, false);
  assert.equal(back.position, 1.6);
});

test("the scrub bar shows any moment and settles at the nearest step", () => {
  const scrubbed = scrubTo(togglePlay(start()), 1.4);
  assert.equal(scrubbed.position, 1.4);
  assert.equal(scrubbed.playing, false);
  assert.equal(run(settle(scrubbed), 200).position, 1);
  assert.equal(scrubTo(start(), 99).position, 3);
});

test("reduced motion reaches a step at once", () => {
  assert.equal(advance(stepBy(start(), 1), 1, true).position, 1);
});

test("the speed scales the time and has limits", () => {
  assert.equal(advance(stepBy({ ...start(), speed: 2 }, 1), 25, false).position, 0.5);
  assert.equal(withSpeed({ ...start(), speed: 8 }, 1).speed, 8);
  assert.equal(withSpeed(start(), -1).speed, 0.5);
});
