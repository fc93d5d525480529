// The storyboard: what is printed in place of the page. Each step of the scene is a picture with its text.
import type { Reel } from "./reel.ts";
import type { Language } from "./recording.ts";
import { Stage } from "./stage.ts";
import { tellStep } from "./story.ts";
import { html, svg } from "./svg.ts";

const stepsMost = 60;

export function fillStoryboard(root: Element, reel: Reel, language: Language): void {
  const steps = reel.part.steps.slice(0, stepsMost);
  root.replaceChildren(...steps.map((step, i) => {
    const drawing = svg("svg", {});
    new Stage(drawing, reel.frame, language).show(reel.picture(i), null);
    const caption = html("figcaption", {}, html("b", {}, String(i + 1)), ` ${tellStep(step, language)}`);
    return html("figure", {}, drawing, caption);
  }));
}
