// Numbers as the page writes them: short, with a unit, and the same in both languages.

/** 12, 1.2 k, 3.4 M. */
export function shortNumber(value: number): string {
  const units = ["", "k", "M", "G", "T"];
  let shown = value;
  let unit = 0;
  while (Math.abs(shown) >= 999.5 && unit < units.length - 1) {
    shown /= 1000;
    ++unit;
  }
  const digits = Math.abs(shown) < 9.95 && (unit > 0 || !Number.isInteger(shown)) ? 1 : 0;
  return `${shown.toFixed(digits)}${unit > 0 ? " " : ""}${units[unit]}`;
}

/** 12,345: all digits, in groups. */
export const wholeNumber = (value: number): string => value.toLocaleString("en-US");

/** 250 ns, 1.3 ms, 4.0 s, 3 min, 2 h. */
export function shortTime(ns: number): string {
  const units: [number, string][] = [[3600e9, "h"], [60e9, "min"], [1e9, "s"], [1e6, "ms"], [1e3, "µs"]];
  for (const [size, unit] of units) {
    if (ns < size) continue;
    const shown = ns / size;
    return `${shown.toFixed(shown < 9.95 && size <= 1e9 ? 1 : 0)} ${unit}`;
  }
  return `${Math.round(ns)} ns`;
}

export function shortBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const kib = bytes / 1024;
  return kib < 1024 ? `${kib.toFixed(kib < 10 ? 1 : 0)} KiB` : `${(kib / 1024).toFixed(1)} MiB`;
}

/** The last two parts of a path, which say more than the folder where a program was built. */
export function shortPath(path: string): string {
  return path.split("/").filter((part) => part !== "." && part !== "").slice(-2).join("/");
}

/** The name of a function or a place without what makes std::string long. */
export function shortName(name: string): string {
  return name.replace(/std::(__cxx11::)?basic_string<char, std::char_traits<char>, std::allocator<char> ?>/g,
                      "std::string");
}
