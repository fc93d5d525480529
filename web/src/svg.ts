// Small helpers that make SVG and HTML elements, and the shapes that the stage and the key share.

export type Attributes = Record<string, string | number>;

export function svg<K extends keyof SVGElementTagNameMap>(
  name: K, attributes: Attributes = {}, ...children: (Node | string)[]
): SVGElementTagNameMap[K] {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.append(...children);
  return made;
}

export function html<K extends keyof HTMLElementTagNameMap>(
  name: K, attributes: Attributes = {}, ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.append(...children);
  return made;
}

/** The element with this id, which the page's own HTML has. */
export function byId<T extends Element = HTMLElement>(id: string): T {
  const found = document.querySelector<T>(`#${id}`);
  if (!found) throw new Error(`the page has no element #${id}`);
  return found;
}

export const round = (value: number): number => Math.round(value * 10) / 10;

/** A triangle that points upwards, around a circle with this radius. */
export function triangle(inner: number): string {
  const half = round(inner * 1.732);
  return `M0 ${round(-2 * inner)}L${half} ${round(inner)}L${-half} ${round(inner)}Z`;
}

/** The small sign at a goroutine's upper right, so that its state is told by more than colour. */
export const badges: Partial<Record<string, string>> = {
  new: "M-3 0H3M0 -3V3",
  waiting: "M-2 -3V3M2 -3V3",
  preempted: "M-3 -2L0 2L3 -2",
  in_call: "M-3 2L0 -2L3 2",
};

/** 14 by 14, around the origin. */
export const placeIcons: Record<string, string> = {
  chan: "M-7 -4H7M-7 4H7M-3 -1.5L0 0L-3 1.5M2 -1.5L5 0L2 1.5",
  mutex: "M-5 -1H5V6H-5ZM-3 -1V-3A3 3 0 0 1 3 -3V-1",
  timer: "M0 -6A6 6 0 1 1 -0.01 -6ZM0 -3V0L2.5 1.5",
  poller: "M-6 5A9 9 0 0 1 6 5M-3.4 6A5 5 0 0 1 3.4 6M0 -6V2M-3 -3L0 -6L3 -3",
  call: "M-5 -5H5V5H-5ZM-5 -2H-7M-5 2H-7M5 -2H7M5 2H7",
  other: "M-5 0H-4.9M0 0H0.1M5 0H5.1",
};
