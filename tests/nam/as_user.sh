# To be sourced: runs commands as other users, each in a home directory in $directory. Ends with exit code 77 if this
# process is not root.
if [ "$(id -u)" != 0 ]; then
  echo "skipped: other users need root"
  exit 77
fi
as() { # USER GROUP COMMAND...
  local home=$directory/home-$1
  install -d -m 0700 -o "$1" -g "$2" "$home"
  (cd "$home" && HOME=$home TMPDIR=$home exec setpriv --reuid "$1" --regid "$2" --clear-groups -- "${@:3}")
}
# job USER GROUP RANKS ARGUMENT...: runs $guest as a job of this user. $job_options has further arguments of $mpirun.
job_options=()
job() {
  as "$1" "$2" "$mpirun" --oversubscribe --bind-to none --mca osc mpix "${job_options[@]}" -np "$3" "$guest" "${@:4}"
}
