#!/usr/bin/env bash
# NWChem as Debian ships it: CCSD(T) energies on our windows are those on the stock components.
. "$(dirname "$0")/lib.sh"
need_packages nwchem-openmpi

input() { # NAME BASIS GEOMETRY
  cat > "$1.nw" <<NW
start $1
memory total 300 mb
permanent_dir $dir/scratch
scratch_dir $dir/scratch
geometry units angstrom
$3
end
basis spherical
  * library $2
end
scf; thresh 1e-10; end
ccsd; thresh 1e-8; end
task ccsd(t) energy
NW
}
water=' O 0.000 0.000 0.119
 H 0.000 0.763 -0.477
 H 0.000 -0.763 -0.477'
dimer="$water
 O 0.000 0.000 3.019
 H 0.000 0.763 3.615
 H 0.000 -0.763 3.615"

energies() { grep -E 'Total (SCF|CCSD|CCSD\(T\)) energy' "$1"; }

# compare NAME OUTPUT: the energies in OUTPUT with those on the stock components, in NAME.stock.energies
compare() {
  energies "$2" > "$2.energies" || true
  [ "$(wc -l < "$2.energies")" -ge 3 ] || fail "NWChem gives no energies on our windows" "$2"
  paste "$1.stock.energies" "$2.energies" | awk '
    { n = NF / 2; d = $n - $NF; if (d < 0) d = -d; if (d > 1e-7) bad = 1 } END { exit bad }' ||
    { cat "$1.stock.energies" "$2.energies"; fail "$1: other energies"; }
}

# run NAME RANKS...: on one host with each of these numbers of ranks
run() {
  local name=$1 ranks
  shift
  mkdir -p scratch
  on_stock 2 nwchem.openmpi "$name.nw" > "$name.stock" 2>&1 || fail "NWChem fails on the stock components" "$name.stock"
  energies "$name.stock" > "$name.stock.energies"
  for ranks in "$@"; do
    rm -rf scratch; mkdir scratch
    on_ours "$ranks" nwchem.openmpi "$name.nw" > "$name.$ranks" 2>&1 || fail "NWChem fails on our windows, $ranks ranks" "$name.$ranks"
    compare "$name" "$name.$ranks"
    echo "$name, $ranks ranks: $(tail -n 1 "$name.$ranks.energies")"
  done
}

input water sto-3g "$water"
run water 2
[ "$long" = yes ] || exit 0
input water aug-cc-pvdz "$water"
run water 2 4
input dimer aug-cc-pvdz "$dimer"
run dimer 2 4
for ranks in 1 2; do
  rm -rf scratch; mkdir scratch
  code=0
  on_two_hosts "$ranks" nwchem.openmpi dimer.nw > dimer.hosts 2>&1 || code=$?
  [ "$code" -ne 77 ] || { echo "two hosts: not permitted here"; exit 0; }
  [ "$code" -eq 0 ] || fail "NWChem fails on our windows on two hosts" dimer.hosts
  compare dimer dimer.hosts
  echo "dimer, two hosts with $ranks ranks each: $(tail -n 1 dimer.hosts.energies)"
done
