// The free camera: drag to move, Ctrl and the wheel or two fingers to zoom. A picture that fits is never moved, so the
// page scrolls as usual over it.

export type View = { x: number; y: number; zoom: number };

export const wholeView: View = { x: 0, y: 0, zoom: 1 };
export const zoomMost = 12;

/** Zooms so that the given point of the stage stays where it is. */
export function zoomAt(view: View, x: number, y: number, by: number): View {
  const zoom = Math.min(zoomMost, Math.max(1, view.zoom * by));
  if (zoom === 1) return wholeView;
  const share = zoom / view.zoom;
  return { x: x - (x - view.x) * share, y: y - (y - view.y) * share, zoom };
}

/** Moves the view, but never so far that the machine leaves the stage. */
export function moveBy(view: View, dx: number, dy: number, width: number, height: number): View {
  const keep = (value: number, size: number): number => Math.min(0, Math.max(size * (1 - view.zoom), value));
  return { ...view, x: keep(view.x + dx, width), y: keep(view.y + dy, height) };
}

export class Camera {
  view: View = wholeView;
  private readonly pointers = new Map<number, { x: number; y: number }>();
  private readonly root: SVGSVGElement;
  private readonly changed: () => void;
  private down = { x: 0, y: 0 };
  private dragged = false;

  constructor(root: SVGSVGElement, changed: () => void, signal: AbortSignal) {
    this.root = root;
    this.changed = changed;
    root.addEventListener("wheel", (event) => this.onWheel(event), { passive: false, signal });
    root.addEventListener("pointerdown", (event) => this.onDown(event), { signal });
    root.addEventListener("pointermove", (event) => this.onMove(event), { signal });
    for (const name of ["pointerup", "pointercancel", "pointerleave"] as const) {
      root.addEventListener(name, (event) => this.pointers.delete(event.pointerId), { signal });
    }
    // A drag is not a click on the goroutine under the pointer.
    root.addEventListener("click", (event) => {
      if (this.dragged) event.stopPropagation();
    }, { capture: true, signal });
  }

  fit(): void {
    this.set(wholeView);
  }

  zoom(by: number): void {
    const box = this.root.viewBox.baseVal;
    this.set(zoomAt(this.view, box.width / 2, box.height / 2, by));
  }

  /** Brings a point of the machine into the middle, if the view is zoomed. */
  lookAt(x: number, y: number): void {
    const box = this.root.viewBox.baseVal;
    const { zoom } = this.view;
    const wanted = { x: box.width / 2 - x * zoom, y: box.height / 2 - y * zoom, zoom };
    this.set(moveBy(wanted, 0, 0, box.width, box.height));
  }

  private set(view: View): void {
    this.view = view;
    this.root.classList.toggle("zoomed", view.zoom > 1);
    this.changed();
  }

  private toStage(x: number, y: number): { x: number; y: number; scale: number } {
    const screen = this.root.getBoundingClientRect();
    const box = this.root.viewBox.baseVal;
    const scale = Math.max(box.width / screen.width, box.height / screen.height);
    const left = screen.left + (screen.width - box.width / scale) / 2;
    const top = screen.top + (screen.height - box.height / scale) / 2;
    return { x: (x - left) * scale, y: (y - top) * scale, scale };
  }

  private onWheel(event: WheelEvent): void {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const at = this.toStage(event.clientX, event.clientY);
    this.set(zoomAt(this.view, at.x, at.y, Math.exp(-event.deltaY * 0.002)));
  }

  private onDown(event: PointerEvent): void {
    this.dragged = false;
    this.down = { x: event.clientX, y: event.clientY };
    this.pointers.set(event.pointerId, this.down);
  }

  private onMove(event: PointerEvent): void {
    const before = this.pointers.get(event.pointerId);
    if (!before) return;
    const now = { x: event.clientX, y: event.clientY };
    const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
    const box = this.root.viewBox.baseVal;
    if (other) {
      const apart = Math.hypot(before.x - other.x, before.y - other.y);
      const middle = this.toStage((now.x + other.x) / 2, (now.y + other.y) / 2);
      const wider = Math.hypot(now.x - other.x, now.y - other.y) / apart;
      if (apart > 0) this.set(zoomAt(this.view, middle.x, middle.y, wider));
    } else if (this.view.zoom > 1) {
      const { scale } = this.toStage(0, 0);
      this.set(moveBy(this.view, (now.x - before.x) * scale, (now.y - before.y) * scale, box.width, box.height));
    }
    if (Math.hypot(now.x - this.down.x, now.y - this.down.y) > 4 || other) this.dragged = true;
    this.pointers.set(event.pointerId, now);
  }
}
