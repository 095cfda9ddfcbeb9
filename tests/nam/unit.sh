#!/bin/sh
# The installed systemd unit: its exposure level, and whether its command line starts a server with the rights of the
# unit's user.
# usage: tests/nam/unit.sh CMAKE BUILD SOURCE
set -eu
cmake=$1 build=$2 source=$3
skip() { echo "skipped: $1"; exit 77; }
fail() { echo "failed: $1" >&2; exit 1; }

dir=$(mktemp -d "${TMPDIR:-/tmp}/mpix-unit-XXXXXX")
server=
end() {
  [ -z "$server" ] || { kill "$server" 2> /dev/null && wait "$server" || true; }
  rm -rf "$dir"
}
trap end EXIT
chmod 755 "$dir"

"$cmake" -D "template=$build/installed/mpix-namd.service.in" -D "written=$dir/written/mpix-namd.service" \
  -D destination=lib/systemd/system -D "CMAKE_INSTALL_PREFIX=$dir" -P "$source/cmake/MpixWriteInstalled.cmake" > /dev/null
unit=$dir/lib/systemd/system/mpix-namd.service
[ -s "$unit" ] || fail "no unit was installed"
# The unit's user may lack access to the checkout, so the programs are copied. They find the library in ../lib, which
# exists already.
mkdir "$dir/bin"
cp "$build/bin/mpix-namd" "$build/bin/mpix-nam" "$dir/bin/"
cp -P "$build"/lib/libmpix_engine.so* "$dir/lib/"
chmod -R go+rX "$dir/bin" "$dir/lib"

# Prints the values of a setting, separated by spaces.
setting() { sed -n "s/^$1=//p" "$unit" | tr '\n' ' ' | sed 's/ $//'; }
grep -q "^u $(setting User) " "$source/nam/systemd/mpix-nam.sysusers" || fail "nobody makes the unit's user"
# Without it the service would remove the socket that mpix-namd.socket keeps for the next start.
[ "$(setting RuntimeDirectoryPreserve)" = yes ] || fail "the socket goes with the service"
[ "$(setting User)" = "$(setting Group)" ] || fail "the group is another one's"

if ! command -v systemd-analyze > /dev/null; then
  echo "not looked at: the exposure level, because systemd-analyze is missing"
  analysed=no
elif ! systemd-analyze security --help 2> /dev/null | grep -q -- --offline; then
  echo "not looked at: the exposure level, because systemd-analyze is older than version 250"
  analysed=no
else
  analysed=yes
  # The threshold is in tenths: the level must be below 3.
  systemd-analyze security --no-pager --offline=true --threshold=29 "$unit" > "$dir/security" 2>&1 ||
    { tail -n 3 "$dir/security" >&2; fail "the exposure level is 3 or more"; }
  level=$(sed -n 's/.*Overall exposure level for mpix-namd.service: *\([0-9.]*\).*/\1/p' "$dir/security")
  [ -n "$level" ] || { cat "$dir/security" >&2; fail "systemd-analyze says no exposure level"; }
  echo "exposure level $level"
fi

done_or_skip() {
  [ "$analysed" = no ] && skip "neither systemd-analyze nor $1" || { echo "not started: $1"; exit 0; }
}
[ "$(id -u)" -eq 0 ] || done_or_skip "root, who starts the server as another user"
command -v setpriv > /dev/null || done_or_skip "the command setpriv"

# Start the server as systemd does: as another user, without groups, with only these capabilities and this environment.
uid=64017
lower() { tr 'A-Z' 'a-z' | sed 's/cap_//g'; }
ambient=$(setting AmbientCapabilities | lower)
bounding=$(setting CapabilityBoundingSet | lower)
plus() { for each; do printf '+%s,' "$each"; done | sed 's/,$//'; }
mkdir "$dir/state" "$dir/run"
chown "$uid:$uid" "$dir/state" "$dir/run"
chmod 700 "$dir/state"
sed 's/^size = .*/size = "64M"/' "$source/nam/systemd/mpix-namd.toml" > "$dir/mpix-namd.toml"
echo 'listen = "none"' >> "$dir/mpix-namd.toml"
chmod 644 "$dir/mpix-namd.toml"
command_line=$(setting ExecStart | sed "s#/etc/mpix-namd.toml#$dir/mpix-namd.toml#")
environment=$(setting Environment | sed "s#/var/lib/mpix-nam#$dir/state#; s#/run/mpix-nam/#$dir/run/#")
case "$command_line" in *"$dir/mpix-namd.toml"*) ;; *) fail "the unit has another configuration file" ;; esac
no_new_privileges=
[ "$(setting NoNewPrivileges)" != yes ] || no_new_privileges=--no-new-privs
# shellcheck disable=SC2086 # words
env -i PATH=/usr/bin:/bin $environment setpriv --reuid $uid --regid $uid --clear-groups \
  --inh-caps "-all,$(plus $ambient)" --ambient-caps "-all,$(plus $ambient)" --bounding-set "-all,$(plus $bounding)" \
  $no_new_privileges sh -c "umask $(setting UMask); exec $command_line" 2> "$dir/log" &
server=$!
tool="setpriv --reuid $uid --regid $uid --clear-groups $dir/bin/mpix-nam --server $dir/run/socket --wait 60"
grant=$($tool grant 1M) || { cat "$dir/log" >&2; fail "the server makes no grant"; }
process=$($tool --json show "$grant" | sed -n 's/^  "pid": \([0-9]*\).*/\1/p')
value() { sed -n "s/^$2:[[:space:]]*\([^[:space:]]*\).*/\1/p" "/proc/$1/status"; }
[ "$(value "$server" Uid)" = $uid ] || fail "the main process is another user's"
[ "$(value "$server" NoNewPrivs)" = 1 ] || fail "the main process may gain privileges"
# A data process has a data user, or the server's user where this user namespace has no data users.
data_user=$(value "$process" Uid)
if grep -q 'needs the capabilities\|no users' "$dir/log"; then echo "data users: none in this user namespace"
elif [ "$data_user" -lt 1879050000 ] || [ "$data_user" -ge 1879060000 ]; then fail "a data process is user $data_user"; fi
[ "$(value "$process" CapEff)" = 0000000000000000 ] || fail "a data process has capabilities"
[ "$(value "$process" Seccomp)" = 2 ] || fail "a data process has no filter"
$tool revoke "$grant"
kill "$server"
code=0
wait "$server" || code=$?
server=
[ "$code" -eq 0 ] || { cat "$dir/log" >&2; fail "the server ends with exit code $code"; }
[ -z "$(find "$dir/state" ! -user $uid)" ] || fail "a file of the server belongs to another user"
echo "a server of the unit's user ran"
