#!/usr/bin/env bash
# dev_verbs.sh SOURCE WORK: what ./dev answers without building anything. It prints what is wrong, and ends with 1 then.
#
# The programs that ./dev would call are stand-ins in WORK/bin: apt-get writes down what it is asked to install, and cmake
# fails.
set -euo pipefail
readonly source=$1 work=$2
failures=0

fail() { printf 'wrong: %s\n' "$*"; failures=$((failures + 1)); }

rm -rf "$work"
mkdir -p "$work/bin"
for tool in bash env dirname nproc uname cat grep awk paste rm git cut sed tr python3; do
  path=$(command -v "$tool") && ln -s "$path" "$work/bin/$tool"
done
stand_in() { printf '#!/usr/bin/env bash\n%s\n' "$2" >"$work/bin/$1" && chmod +x "$work/bin/$1"; }
stand_in apt-get "printf '%s\n' \"\$@\" >>'$work/installed'"
stand_in sudo 'exec "$@"'
stand_in cmake 'exit 1'

# dev CODE PATTERN [ARGUMENT...]: ./dev with these arguments exits with CODE, and its output matches PATTERN. No package
# that is proved by a file counts as installed.
dev() {
  local code=$1 pattern=$2 got=0 said
  shift 2
  : >"$work/installed"
  said=$(PATH="$work/bin" THRUM_PACKAGES_IN="$work/none" "$source/dev" "$@" 2>&1) || got=$?
  ((got == code)) || fail "./dev $* exits with $got, not with $code: $said"
  grep -qE -- "$pattern" <<<"$said" || fail "./dev $* does not say '$pattern': $said"
}
installs() { grep -qx -- "$1" "$work/installed"; }

for verb in run test build bench instructions check format matrix; do
  dev 0 "^  \./dev $verb\b"
done
dev 2 'there is no command dance' dance
dev 2 'test has no option --slow' test --slow
dev 2 'there is no stage dance' test --only dance
dev 2 '--within needs a number' test --all --within soon
dev 2 '--within is for --all' test --within 5
dev 2 '--minutes needs a number' test --chaos --minutes some
dev 2 '--arch takes one value' test --arch mine
[[ ! -s $work/installed ]] || fail "a mistake in the command line installs something: $(cat "$work/installed")"

readonly servers=(redis-server postgresql nginx)
dev 1 'not installed, so the tests that need them are left out' test --fast
installs libgtest-dev || fail './dev test --fast does not install what it needs'
for each in "${servers[@]}"; do
  if installs "$each"; then fail "./dev test --fast installs $each"; fi
done
dev 1 '0 passed, [0-9]+ failed' test
for each in "${servers[@]}"; do
  installs "$each" || fail "./dev test does not install $each"
done
rm -rf "$work"
((failures == 0))
