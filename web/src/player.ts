// The player: where the page is in a part, and whether it plays. `position` is a step number, and a fraction while the
// machine is on its way from one step to the next. Pure: the clock comes in as milliseconds that have passed.

export type Player = {
  /** The number of steps, and the time that the way to each step takes. */
  durations_ms: number[];
  /** How long each step is shown before the next one begins. */
  dwells_ms: number[];
  position: number;
  /** The step at which the machine will be when the present motion has ended. */
  target: number;
  playing: boolean;
  /** How long the present step has been shown. */
  shown_ms: number;
  speed: number;
};

export const speeds = [0.25, 0.5, 1, 2, 4, 8] as const;

export function newPlayer(durations_ms: number[], dwells_ms: number[], speed: number): Player {
  return { durations_ms, dwells_ms, position: 0, target: 0, playing: false, shown_ms: 0, speed };
}

export function lastStep(player: Player): number {
  return player.durations_ms.length - 1;
}

/** The step that the page tells about: the one on its way, or the one at rest. */
export function currentStep(player: Player): number {
  return player.target;
}

function within(player: Player, step: number): number {
  return Math.min(lastStep(player), Math.max(0, step));
}

/** Moves one step. A step that is still on its way is finished at once, so quick key presses all count. */
export function stepBy(player: Player, by: 1 | -1): Player {
  const settled = player.target;
  const target = within(player, settled + by);
  return { ...player, position: settled, target, playing: false, shown_ms: 0 };
}

/** Jumps to a step without motion. */
export function jumpTo(player: Player, step: number): Player {
  const to = within(player, Math.round(step));
  return { ...player, position: to, target: to, shown_ms: 0 };
}

/** Shows any moment, for the scrub bar. */
export function scrubTo(player: Player, position: number): Player {
  const at = within(player, position);
  return { ...player, position: at, target: Math.round(at), playing: false, shown_ms: 0 };
}

/** After the scrub bar is let go, the machine goes to the nearest step. */
export function settle(player: Player): Player {
  return { ...player, target: Math.round(player.position), shown_ms: 0 };
}

export function togglePlay(player: Player): Player {
  if (player.playing) return { ...player, playing: false };
  if (player.target === lastStep(player) && player.position === player.target) {
    return { ...jumpTo(player, 0), playing: true };
  }
  // The reader has seen the present step already, so the next one follows at once.
  return { ...player, playing: true, shown_ms: Infinity };
}

export function withSpeed(player: Player, by: 1 | -1): Player {
  const at = speeds.findIndex((speed) => speed === player.speed);
  const speed = speeds[Math.min(speeds.length - 1, Math.max(0, at + by))] ?? player.speed;
  return { ...player, speed };
}

/** Whether the picture will change without anybody touching the page. */
export function isMoving(player: Player): boolean {
  return player.playing || player.position !== player.target;
}

/** The player after some time. With reduced motion a step is reached at once, and only the reading time passes. */
export function advance(player: Player, passed_ms: number, reducedMotion: boolean): Player {
  const passed = passed_ms * player.speed;
  if (player.position !== player.target) {
    const forward = player.target > player.position;
    const step = forward ? Math.floor(player.position) + 1 : Math.ceil(player.position);
    const share = reducedMotion ? Infinity : passed / (player.durations_ms[within(player, step)] || 1);
    const position = forward ? Math.min(player.target, player.position + share)
      : Math.max(player.target, player.position - share);
    return { ...player, position, shown_ms: 0 };
  }
  if (!player.playing) return player;
  if (player.target === lastStep(player)) return { ...player, playing: false };
  const shown_ms = player.shown_ms + passed;
  if (shown_ms < (player.dwells_ms[player.target] ?? 0)) return { ...player, shown_ms };
  return { ...player, target: player.target + 1, shown_ms: 0 };
}
