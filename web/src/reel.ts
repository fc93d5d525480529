// The reel of a part: its frame, and the layout and the motion of each step, made when they are first needed. It gives
// the picture of any moment, which depends on nothing else.
import { extentOf, makeFrame, widen, type Extent, type Frame } from "./frame.ts";
import { layoutOf, type Layout } from "./layout.ts";
import { motionOf, pictureAt, pictureOf, type Motion, type Picture } from "./motion.ts";
import type { Part, Step } from "./recording.ts";

// A live view keeps so many steps, so many goroutines in all of them together, and the pictures of its last steps.
const most = { steps: 2000, goroutines: 100_000 };
const pictures = 50;

/** How many of the oldest steps a live view forgets before it gets another one with so many goroutines. */
export function forgotten(steps: number, goroutines: number): number {
  const kept = Math.min(most.steps, Math.max(20, Math.floor(most.goroutines / Math.max(1, goroutines))));
  return steps < kept ? 0 : steps - Math.floor(kept * 0.9);
}

export class Reel {
  readonly part: Part;
  private readonly extent: Extent;
  private made: Frame;
  private layouts: Layout[] = [];
  private motions: Motion[] = [];

  constructor(part: Part, width: number) {
    this.part = part;
    this.extent = extentOf(part);
    this.made = makeFrame(this.extent, width);
  }

  get frame(): Frame {
    return this.made;
  }

  /** Returns whether the frame changed. */
  resize(width: number): boolean {
    const frame = makeFrame(this.extent, width);
    if (frame.width === this.made.width && frame.height === this.made.height) return false;
    this.made = frame;
    this.layouts = [];
    this.motions = [];
    return true;
  }

  /** A live view gets steps one by one. Returns whether the frame changed. */
  append(step: Step): boolean {
    const count = this.part.steps.push(step);
    // What has been shown is made anew when the reader goes back to it.
    delete this.layouts[count - pictures];
    delete this.motions[count - pictures];
    return widen(this.extent, step) && this.resizeAnyway();
  }

  private resizeAnyway(): boolean {
    this.made = makeFrame(this.extent, this.made.width);
    this.layouts = [];
    this.motions = [];
    return true;
  }

  /** Forgets the oldest steps of a live view, so that an open page does not grow. */
  dropOldest(count: number): void {
    this.part.steps.splice(0, count);
    this.layouts.splice(0, count);
    this.motions = [];
  }

  layout(step: number): Layout {
    return this.layouts[step] ??= layoutOf(this.part.steps[step]!.state, this.made);
  }

  /** The motion that leads to this step from the one before it. */
  motion(step: number): Motion {
    return this.motions[step] ??=
      motionOf(this.layout(step - 1), this.layout(step), this.part.steps[step]!.events, this.made);
  }

  picture(position: number): Picture {
    const step = Math.ceil(position);
    return step === 0 ? pictureOf(this.layout(0)) : pictureAt(this.motion(step), position - (step - 1));
  }

  durations(): number[] {
    return this.part.steps.map((step, i) => (i === 0 ? 0 : Math.min(2600, 650 + 260 * (step.events.length - 1))));
  }
}
