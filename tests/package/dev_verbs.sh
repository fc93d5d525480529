#!/usr/bin/env bash
# dev_verbs.sh SOURCE WORK: what ./dev answers without building anything. It prints what is wrong, and ends with 1 then.
#
# The programs that ./dev would call are stand-ins in WORK/bin: apt-get writes down what it is asked to install, and
# cmake fails. In the second half of the file cmake succeeds, and ctest writes down its calls. ./dev runs in WORK/tree,
# so that the reports of the stages are not written to the builds of SOURCE.
set -euo pipefail
readonly source=$1 work=$2
failures=0

fail() { printf 'wrong: %s\n' "$*"; failures=$((failures + 1)); }

rm -rf "$work"
mkdir -p "$work/bin"
for tool in bash env dirname nproc uname cat grep awk paste rm git cut sed tr find xargs mkdir; do
  path=$(command -v "$tool") && ln -s "$path" "$work/bin/$tool"
done
# stand_in TOOL SCRIPT: it takes the place of a link to the machine's own tool, and must not be written through the
# link.
stand_in() {
  rm -f "$work/bin/$1"
  printf '#!/usr/bin/env bash\n%s\n' "$2" >"$work/bin/$1"
  chmod +x "$work/bin/$1"
}
stand_in apt-get "printf '%s\n' \"\$@\" >>'$work/installed'"
stand_in sudo 'exec "$@"'
stand_in cmake 'exit 1'
# Not a link: python3 may be a script that needs a PATH of its own.
stand_in python3 "exec '$(python3 -c 'import sys; print(sys.executable)')' \"\$@\""

# dev CODE PATTERN [ARGUMENT...]: ./dev with these arguments exits with CODE, and its output, `said`, matches PATTERN.
# No package that is proved by a file counts as installed.
said=''
tree=$source
dev() {
  local code=$1 pattern=$2 got=0
  shift 2
  : >"$work/installed"
  : >"$work/ctest_calls"
  : >"$work/limits"
  said=$(PATH="$work/bin" THRUM_PACKAGES_IN="$work/none" "$tree/dev" "$@" 2>&1) || got=$?
  ((got == code)) || fail "./dev $* exits with $got, not with $code: $said"
  grep -qE -- "$pattern" <<<"$said" || fail "./dev $* does not say '$pattern': $said"
}
installs() { grep -qx -- "$1" "$work/installed"; }

for verb in run test build screenshots bench instructions check format matrix; do
  dev 0 "^  \./dev $verb\b"
done
dev 2 'there is no command dance' dance
dev 2 'test has no option --slow' test --slow
dev 2 'there is no stage dance' test --only dance
dev 2 '--within needs a number' test --all --within soon
dev 2 '--within is for --all' test --within 5
dev 2 '--minutes needs a number' test --chaos --minutes some
dev 2 '--arch takes one value' test --arch mine
dev 2 "unknown heuristic 'dance'; there are: all, search_patience, " bench --without dance
[[ ! -s $work/installed ]] || fail "a mistake in the command line installs something: $(cat "$work/installed")"

dev 1 'with and without pace: echo$' bench --without pace echo

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

# The stages. The stand-in for ctest writes down in which build it is called. In the build FAILS_IN it fails when it is
# called for the first time. The stand-in for timeout writes down its arguments. In the build STOPPED_IN the time is up.
readonly calls=$work/ctest_calls
tree=$work/tree
mkdir -p "$tree"/{include,src,tests,bench,examples,tools}
cp "$source/dev" "$tree/dev"
cp "$source/tools/failed_tests" "$tree/tools/"
cp "$source/tests/chaos_exceptions" "$tree/tests/"
printf '#!/usr/bin/env bash\n' >"$tree/tools/check_layers"
chmod +x "$tree/tools/check_layers"
for tool in cmake clang-format run-clang-tidy; do stand_in "$tool" 'exit 0'; done
stand_in setarch 'shift; exec "$@"'
# shellcheck disable=SC2016   # the stand-ins expand what is in quotes
stand_in git 'echo "$COMMIT"'
# shellcheck disable=SC2016
stand_in ctest '
while (($#)); do
  case $1 in
    --test-dir) build=${2#build/} ;;
    --output-junit) report=$2 ;;
  esac
  shift
done
seen=$(grep -cx "$build" "$CALLS")
echo "$build" >>"$CALLS"
bad=0
if [[ $build == "$FAILS_IN" ]] && ((seen == 0)); then bad=1; fi
mkdir -p "${report%/*}"
printf "<testsuite tests=\"2\" failures=\"%d\" skipped=\"0\">\n</testsuite>\n" "$bad" >"$report"
exit "$bad"'
# shellcheck disable=SC2016
stand_in timeout '
echo "${*:2}" >>"${CALLS%/*}/limits"
[[ -z $STOPPED_IN || "$*" != *"ctest "*"build/$STOPPED_IN "* ]] || exit 124
shift 2
exec "$@"'
export CALLS=$calls COMMIT=000000 FAILS_IN='' STOPPED_IN=''
called_in() { grep -cx -- "$1" "$calls" || true; }

dev 0 'no time for it: asan clang tsan debug leaks lto ablation cross check ' test --all --within 0
grep -qE '^    minutes: .* plain [0-9]' <<<"$said" || fail "./dev test --all --within 0 leaves plain out: $said"
COMMIT=000003 dev 0 'no time for it: debug leaks lto ablation cross check asan clang tsan ' test --all --within 0
dev 0 'minutes: .* plain .* asan .* clang .* tsan .* debug .* leaks .* lto .* ablation .* cross .* check ' test --all
if grep -q 'left out, because' <<<"$said"; then fail "./dev test --all leaves something out: $said"; fi
export THRUM_REST='asan:5 lto:7 debug:3'
dev 0 'no time for it: lto ' test --all --within 6
[[ $(called_in asan)$(called_in lto)$(called_in debug) == 101 ]] || fail "not asan and debug within six minutes: $said"

# SECONDS is how long ./dev has been running. Here the fixed stages took twice their 26 minutes, so each stage of the
# others is expected to take twice its minutes.
SECONDS=3120 dev 0 'no time for it: asan lto ' test --all --within 60
[[ $(called_in debug) == 1 ]] || fail "debug was left out: $said"

# A failure fails the run, and the stage is not run again to make it pass.
for each in release debug; do
  FAILS_IN=$each dev 1 '^[0-9]+ passed, 1 failed$' test --all --within 6
  for build in debug asan tsan; do
    [[ $(called_in "$build") == 1 ]] || fail "ctest was called in $build $(called_in "$build") times, not once: $said"
  done
  # The fast tests and the stress tests.
  [[ $(called_in release) == 2 ]] || fail "ctest was called in release $(called_in release) times, not twice: $said"
  # The part with ASan and the three modes of chaos.
  [[ $(called_in asan-clang) == 4 ]] ||
    fail "ctest was called in asan-clang $(called_in asan-clang) times, not 4: $said"
done
dev 0 '^[0-9]+ passed, 0 failed$' test --all --within 6

# A stage that is still running when the time is up is stopped, and has failed. ./dev gives it 5/4 of the minutes.
export STOPPED_IN=debug
dev 1 'failed: debug as a whole, because it was stopped when the time was up' test --only clang --all --within 6
# Passed: two tests each of clang and asan, and plain, which counts as two.
grep -qx '6 passed, 1 failed' <<<"$said" || fail "a stage that was stopped does not count as one failure: $said"
seconds=$(grep -E 'ctest .*build/debug ' "$work/limits" | cut -d ' ' -f 1)
((seconds > 360 && seconds <= 450)) || fail "the last of six minutes was to end after $seconds seconds"
rm -rf "$work"
((failures == 0))
