// What the reader has chosen for all visits.

/** Settings outlive the page where the browser allows it. It may not, for example for files. */
export function remember(name: string, value: string): void {
  try {
    localStorage.setItem(`thrum.${name}`, value);
  } catch {
    // The setting then holds until the page is closed.
  }
}

export function remembered(name: string): string | null {
  try {
    return localStorage.getItem(`thrum.${name}`);
  } catch {
    return null;
  }
}
