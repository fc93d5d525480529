// The search field: a combobox that lists the goroutines of the part which match.
import { search, type Found } from "./history.ts";
import type { Language, Part } from "./recording.ts";
import { byId, html } from "./svg.ts";
import { say } from "./words.ts";

export class Finder {
  private readonly field = byId<HTMLInputElement>("query");
  private readonly list = byId("found");
  private found: Found[] = [];
  private active = 0;
  private readonly present: () => { part: Part; step: number; language: Language };
  private readonly chosen: (found: Found) => void;

  constructor(present: () => { part: Part; step: number; language: Language }, chosen: (found: Found) => void,
              signal: AbortSignal) {
    this.present = present;
    this.chosen = chosen;
    this.field.addEventListener("input", () => this.update(), { signal });
    this.field.addEventListener("keydown", (event) => this.onKey(event), { signal });
    this.field.addEventListener("blur", () => setTimeout(() => this.hide(), 150), { signal });
  }

  focus(): void {
    this.field.focus();
    this.field.select();
  }

  translate(language: Language): void {
    this.field.placeholder = say(language, "search");
    this.field.setAttribute("aria-label", say(language, "search"));
    this.list.setAttribute("aria-label", say(language, "search"));
  }

  private hide(): void {
    this.list.hidden = true;
    this.field.setAttribute("aria-expanded", "false");
    this.field.removeAttribute("aria-activedescendant");
  }

  private update(): void {
    const { part, step, language } = this.present();
    if (this.field.value.trim() === "") return this.hide();
    this.found = search(part, this.field.value, step);
    this.active = 0;
    const items = this.found.map((found, i) => {
      const { goroutine } = found;
      const item = html("li", { role: "option", id: `found-${i}` }, html("b", {}, goroutine.label),
                        html("span", {}, goroutine.entry ?? ""), html("i", {}, say(language, `g_${goroutine.state}`)));
      item.addEventListener("mousedown", (event) => event.preventDefault());
      item.addEventListener("click", () => this.choose(i));
      return item;
    });
    const none = html("li", { role: "option", "aria-disabled": "true", "aria-selected": "false" },
                      say(language, "nothing_found"));
    this.list.replaceChildren(...(items.length > 0 ? items : [none]));
    this.list.hidden = false;
    this.field.setAttribute("aria-expanded", "true");
    this.mark();
  }

  private mark(): void {
    this.found.forEach((_, i) => {
      const item = this.list.children[i];
      item?.setAttribute("aria-selected", String(i === this.active));
      if (i === this.active) item?.scrollIntoView({ block: "nearest" });
    });
    if (this.found.length > 0) this.field.setAttribute("aria-activedescendant", `found-${this.active}`);
    else this.field.removeAttribute("aria-activedescendant");
  }

  private choose(index: number): void {
    const found = this.found[index];
    if (!found) return;
    this.hide();
    this.field.blur();
    this.chosen(found);
  }

  private onKey(event: KeyboardEvent): void {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const by = event.key === "ArrowDown" ? 1 : -1;
      this.active = Math.min(this.found.length - 1, Math.max(0, this.active + by));
      this.mark();
    } else if (event.key === "Enter") {
      this.choose(this.active);
    } else if (event.key === "Escape") {
      this.field.value = "";
      this.hide();
      this.field.blur();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}
