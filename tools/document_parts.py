"""Writes the output of commands into documents, between two comments that name the part and the tool that writes it."""
from pathlib import Path


def write_parts(page: Path, tool: str, parts: dict[str, str]) -> None:
    """Replaces each part by its text, as a block of code. The rest of the page is written by hand and stays."""
    text = page.read_text(encoding="utf-8")
    for name, output in parts.items():
        begin, end = f"<!-- {name}: written by {tool} -->\n", f"<!-- end of {name} -->\n"
        if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
            raise SystemExit(f"{page} needs the lines {begin.strip()} and {end.strip()}, once each and in this order")
        text = text[: text.index(begin) + len(begin)] + f"```\n{output}\n```\n" + text[text.index(end) :]
    page.write_text(text, encoding="utf-8")
