export function pageText(): Promise<string>;
