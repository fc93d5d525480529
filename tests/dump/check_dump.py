"""check_dump.py SCHEMA DUMP: reads a dump with Python's own JSON parser, and checks it by its schema and by what the
document says beside that. Prints one line for each goroutine, group or place, as ASCII."""
import json
import re
import sys

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int}
KNOWN = {"$schema", "$defs", "$ref", "title", "type", "properties", "required", "additionalProperties", "items", "enum",
         "const", "minimum", "pattern", "oneOf"}


class Wrong(Exception):
    pass


def require(condition, where, what):
    if not condition:
        raise Wrong(f"{where or 'the dump'}: {what}")


def check(value, schema, root, where=""):
    require(set(schema) <= KNOWN, where, f"the schema uses {set(schema) - KNOWN}, which this script does not know")
    if "$ref" in schema:
        check(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root, where)
    if "oneOf" in schema:
        require(sum(fits(value, each, root) for each in schema["oneOf"]) == 1, where, "fits not exactly one form")
    if "type" in schema:
        its_type = TYPES[schema["type"]]
        is_right = isinstance(value, its_type) and (its_type is bool or not isinstance(value, bool))
        require(is_right, where, f"{value!r} is no {schema['type']}")
    require("const" not in schema or value == schema["const"], where, f"{value!r} is another constant")
    require("enum" not in schema or value in schema["enum"], where, f"{value!r} is not in the list")
    require("minimum" not in schema or value >= schema["minimum"], where, f"{value!r} is too small")
    require("pattern" not in schema or re.search(schema["pattern"], value), where, f"{value!r} has another form")
    if isinstance(value, dict):
        check_members(value, schema, root, where)
    if isinstance(value, list):
        for i, each in enumerate(value):
            check(each, schema.get("items", {}), root, f"{where}[{i}]")


def check_members(value, schema, root, where):
    properties = schema.get("properties", {})
    for name in schema.get("required", []):
        require(name in value, where, f"{name} is missing")
    for name, each in value.items():
        require(name in properties or schema.get("additionalProperties", True), where, f"{name} is not in the schema")
        check(each, properties.get(name, {}), root, f"{where}.{name}")


def fits(value, schema, root):
    try:
        check(value, schema, root)
        return True
    except Wrong:
        return False


def unique(pairs):
    names = [name for name, _ in pairs]
    require(len(names) == len(set(names)), "", f"a member twice: {names}")
    return dict(pairs)


def form_of(dump):
    return next(name for name in ("goroutines", "groups", "places") if name in dump)


def check_beside_schema(dump, form):
    items = dump[form]
    for item in items:
        require(("reason" in item) == (item["state"] == "waiting"), item, "a reason is of those that wait")
        if form == "goroutines":
            continue
        require(item["count"] == len(set(item["ids"])), item, "count is not the number of the ids")
        if "waited" in item:
            waited = item["waited"]
            require(waited["shortest_ns"] <= waited["median_ns"] <= waited["longest_ns"], item, "times are not ordered")
            require(waited["longest_ns"] <= waited["total_ns"] <= waited["known"] * waited["longest_ns"], item, "total")
            require(waited["known"] <= item["count"], item, "more times than goroutines")
    if form != "places":
        listed = len(items) if form == "goroutines" else sum(item["count"] for item in items)
        require(listed + dump["left_out"] == dump["total"], "", "the total is another")
    counts = [item.get("count", 0) for item in items]
    totals = [item.get("waited", {}).get("total_ns", 0) for item in items]
    require(form != "groups" or counts == sorted(counts, reverse=True), "", "the largest group is not the first")
    require(form != "places" or totals == sorted(totals, reverse=True), "", "the longest times are not the first")


def main():
    schema = json.load(open(sys.argv[1], encoding="utf-8"))
    text = open(sys.argv[2], "rb").read().decode("utf-8", errors="strict")
    dump = json.loads(text, object_pairs_hook=unique)
    form = form_of(dump)
    # the form by itself before oneOf, because that says more
    check(dump, schema["$defs"][{"goroutines": "each", "groups": "grouped", "places": "leaks"}[form]], schema)
    check(dump, schema, schema)
    check_beside_schema(dump, form)
    for item in dump[form]:
        first_id = item.get("id") or item["ids"][0]
        frames = item.get("stack", []) + item.get("waits_at", []) + item.get("created_at", [])
        functions = " ".join(frame["function"] for frame in frames)
        print(f"{form} id={first_id} count={item.get('count', 1)} state={item['state']} "
              f"reason={item.get('reason', '')} name={json.dumps(item.get('name', ''))} at {functions}")
    print(f"the dump is valid: {form}, {dump['total']} goroutines, {len(dump['deadlocks'])} deadlocks")


try:
    main()
except (Wrong, ValueError) as wrong:
    sys.exit(f"the dump is invalid: {wrong}")
