#!/bin/bash
# The scripts for Slurm, started as slurmctld and slurmd start them: without PATH, with variables about the job.
# usage: tests/nam/slurm.sh BIN SOURCE
set -euo pipefail
. "$(dirname "$0")/server.sh" "$1"
fail() { echo "failed: $1" >&2; exit 1; }

mkdir "$directory/scripts" "$directory/jobs"
cp "$2"/nam/slurm/* "$directory/scripts/"
sed -i "s#^PATH=#PATH=$bin:#; s#=/run/mpix-nam/socket#=$MPIX_NAM_SERVER#; s#^jobs=.*#jobs=$directory/jobs#" \
  "$directory/scripts/settings"

printf '#!/bin/sh\necho "$*" >> %s/logged\n' "$directory" > "$directory/scripts/logger"
chmod +x "$directory/scripts/logger"
sed -i "s#^PATH=#PATH=$directory/scripts:#" "$directory/scripts/settings"

script() { # NAME JOB [COMMENT]
  env -i SLURM_JOB_ID="$2" SLURM_JOB_USER="$(id -un)" ${3+"SLURM_JOB_COMMENT=$3"} "$directory/scripts/$1"
}
grants() { "$bin/mpix-nam" list | tail -n +2 | wc -l; }
before=$(grants)

script prolog 1
script prolog 1 "weather forecast"
[ "$(grants)" -eq "$before" ] || fail "a job that asks for nothing gets a grant"
printed=$(script task-prolog 1)
[ -z "$printed" ] || fail "the job finds a grant"
script epilog 1

script prolog 2 nam=2M
printed=$(script task-prolog 2)
grant=${printed#export MPIX_NAM_ALLOCATION=}
[ "$grant" != "$printed" ] || fail "task-prolog prints '$printed'"
"$bin/mpix-nam" show "$grant" | grep -q '^size *2M$' || fail "the grant has another size"
[ "$(stat -c %a "$directory/jobs/2")" = 644 ] || fail "the job's user may not read the locator"

script prolog 3 "forecast,nam=1M night"
[ "$(grants)" -eq $((before + 2)) ] || fail "a word of a longer comment is no grant"
script prolog 3 nam=1M
[ "$(grants)" -eq $((before + 2)) ] || fail "a repeated prolog makes another grant"
"$bin/mpix-nam" revoke "$(cat "$directory/jobs/3")"
script epilog 3 || fail "the epilog fails after the user has revoked the grant"
script epilog 2
[ "$(grants)" -eq "$before" ] || fail "a grant outlives its job"

script prolog 5 nam=1M
mv "$directory/jobs/5" "$directory/jobs/5.new" # as if the prolog had been ended before it renamed the file
script prolog 5 nam=1M
[ "$(grants)" -eq $((before + 1)) ] || fail "the grant of a prolog that was ended stays"
script prolog 5
[ "$(grants)" -eq "$before" ] || fail "a job that asks for nothing any more keeps its grant"
: > "$directory/jobs/5.new"
script epilog 5 || fail "the epilog fails after a prolog that was ended during the grant"
echo --none > "$directory/jobs/6"
! script prolog 6 nam=1M 2> /dev/null || fail "a job starts whose earlier grant cannot be revoked"
grep -q 'job 6: the earlier grant cannot be revoked: .' "$directory/logged" || fail "that reason is not logged"
rm "$directory/jobs/6"

for refused in nam=1T nam=1MB nam=--help; do
  ! script prolog 4 "$refused" 2> /dev/null || fail "a job starts without $refused"
  script epilog 4 || fail "the epilog fails after a refusal"
done
[ "$(grep -c 'job 4: ' "$directory/logged")" -eq 3 ] || fail "the reason of a refusal is not logged"
[ -z "$(ls "$directory/jobs")" ] || fail "files of jobs are left: $(ls "$directory/jobs")"
