#!/usr/bin/env bash
# run.sh NAME: runs web/test/NAME_test.ts, or the compiler's check of all types for `types`. The working directory is
# web/. It ends with 77, and says why, if a tool is missing.
set -euo pipefail
readonly name=$1

skip() { echo "skipped: $*"; exit 77; }

command -v node >/dev/null || skip 'there is no node (Debian: nodejs)'
major=$(node -p 'process.versions.node.split(".")[0]')
((major >= 18)) || skip "node is version $major, and the tests need 18 or later"
for package in esbuild typescript puppeteer-core axe-core; do
  [[ -d node_modules/$package ]] || skip "the npm package $package is not installed (npm ci in web/)"
done
if [[ $name == types ]]; then exec node_modules/.bin/tsc --noEmit; fi
if [[ $name == page || $name == live ]]; then
  found='' broken=''
  for browser in "${CHROMIUM:-}" /usr/bin/chromium /usr/bin/chromium-browser /usr/bin/google-chrome; do
    [[ -x $browser ]] || continue
    # Ubuntu's package is a program that only says how to install the browser.
    if "$browser" --version >/dev/null 2>&1; then found=$browser; break; fi
    broken=$browser
  done
  [[ -n $found || -z $broken ]] || skip "\"$broken --version\" fails, so no Chromium runs (Debian: chromium)"
  [[ -n $found ]] || skip 'there is no Chromium (Debian: chromium)'
  export CHROMIUM=$found
fi
node build.mjs test "$name"
exec node --test "build/${name}_test.mjs"
