#!/bin/bash
# same-kernels.sh OLD [NEW]
#
# Is the GPU code of two commits the same? NEW left out: the tree as it is. Two comparisons:
#
#   kernels   every kernel of src/kernels, for sm_80 and sm_90, by name: its machine code and its own shared memory. Where machine
#             code differs the PTX decides, if only the places of arguments have moved in their struct: offsets of ld.param are
#             left out of the comparison then.
#   launches  what thousands of calls at random launch, clear and take of workspace (tests/context/test_launches.c), each commit by its own
#             test, seeds 1 to 3
#
# Prints a line for each difference, and at last `N passed, N failed, N skipped`; exit status 1 if something
# differs. What is compiled is kept (nvcc.sh), so a second comparison with the same OLD is quick.
#
#   NVCC=...       the compiler; without one kernels are skipped
#   KERNELS=TEXT   only files of kernels whose names hold it
#   JOBS=N         at a time
#   RENAMED=FILE   commands of `sed -E`, a line each, that make the new name of a kernel from the one in OLD; of kernels and launches
set -u
cd "$(dirname "$0")/.." || exit 1
root=$PWD jobs=${JOBS:-$(nproc)}
[ $# -ge 1 ] || { sed -n '2,/^set/{s/^# \{0,1\}//;/^set/d;p}' "$0"; exit 2; }
nvcc=${NVCC:-$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)}
work=$(mktemp -d "${TMPDIR:-/tmp}/same-kernels.XXXXXX")
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 skipped=0
RENAMED=$(realpath "${RENAMED:-/dev/null}")

# tree COMMIT FOLDER
tree() {
    mkdir -p "$2"
    if [ -n "$1" ]; then
        git archive "$1" | tar -x -C "$2"
    else
        git ls-files -z --cached --others --exclude-standard | xargs -0 ls -d 2>/dev/null | tar -c -T - | tar -x -C "$2"
    fi
}
tree "$1" "$work/old" || exit 1
tree "${2:-}" "$work/new" || exit 1

# Names of OLD, as they are in NEW.
renamed() {
    sed -E -f "$RENAMED"
}

# ---- kernels -----------------------------------------------------------------------------------------------------
compile() { # SIDE FILE ARCHITECTURE
    local side=$1 name architecture=$3
    name=$(basename "$2" .cu)
    mkdir -p "$work/$side.$architecture"
    (cd "$work/$side" && "$root/scripts/nvcc.sh" "$nvcc" -cubin -arch="$architecture" -std=c++17 -O3 -allow-unsupported-compiler \
        -I include -I src -o "$work/$side.$architecture/$name.cubin" "$2") >"$work/$side.$architecture/$name.log" 2>&1 ||
        { echo "$side: $2 does not compile for $architecture"; tail -n 3 "$work/$side.$architecture/$name.log"; } >>"$work/trouble"
}

# A line a kernel: FILE KERNEL CODE-HASH SHARED.
kernels_of() { # FOLDER
    local cubin file
    for cubin in "$1"/*.cubin; do
        file=$(basename "$cubin" .cubin)
        readelf -SW "$cubin" 2>/dev/null | sed -n 's/^ *\[ *[0-9]*\] //p' | awk '
            $1 ~ /^\.nv\.shared\./ { shared[substr($1, 12)] = $5 }
            $1 ~ /^\.text\./ { name = substr($1, 7); at[name] = $4; bytes[name] = $5 }
            END { for (name in at) print name, at[name], bytes[name], (name in shared) ? shared[name] : 0 }' |
            while read -r name at bytes shared; do
                echo "$file $name $(tail -c +$((0x$at + 1)) "$cubin" | head -c $((0x$bytes)) | sha256sum | cut -c 1-32) $((0x$shared))"
            done
    done | sort
}

# The PTX of one kernel without what depends on where an argument lies: offsets, the size of the struct, the
# numbers of registers.
ptx_of() { # SIDE FILE KERNEL ARCHITECTURE
    local ptx=$work/$1.$4/$2.ptx
    [ -f "$ptx" ] || (cd "$work/$1" && "$root/scripts/nvcc.sh" "$nvcc" -ptx -arch="${4/sm_/compute_}" -std=c++17 -O3 -allow-unsupported-compiler \
        -I include -I src -o "$ptx" "src/kernels/$2.cu") >/dev/null 2>&1
    awk -v kernel="$3" '
        $0 ~ "\\.entry " kernel "\\(" { inside = 1 }
        inside { print }
        inside && /^}/ { exit }' "$ptx" |
        sed -E 's/(ld\.param[^[]*\[[^]+]*)(\+[0-9]+)?\]/\1]/; s/(_param_0)\[[0-9]+\]/\1/; s/(param_[0-9]+)\+[0-9]+/\1/; /^[ \t]*\/\//d'
}

same_in_ptx() { # OLD-FILE NEW-FILE OLD-KERNEL KERNEL ARCHITECTURE
    ptx_of old "$1" "$3" "$5" | sed "s/\b$3/$4/g" >"$work/old.ptx"
    ptx_of new "$2" "$4" "$5" >"$work/new.ptx"
    [ -s "$work/old.ptx" ] && cmp -s "$work/old.ptx" "$work/new.ptx"
}

compare_kernels() { # ARCHITECTURE
    local arch=$1 file name code shared old_file old_code old_shared old_name
    kernels_of "$work/old.$arch" | while read -r file name code shared; do
        echo "$file $(renamed <<<"$name") $code $shared $name"
    done >"$work/old.list"
    kernels_of "$work/new.$arch" >"$work/new.list"
    cut -d ' ' -f 2 "$work/old.list" | sort >"$work/old.names"
    cut -d ' ' -f 2 "$work/new.list" | sort >"$work/new.names"
    comm -23 "$work/old.names" "$work/new.names" | sed "s/^/$arch: gone: /"
    comm -13 "$work/old.names" "$work/new.names" | sed "s/^/$arch: new: /"
    while read -r file name code shared; do
        read -r old_file _ old_code old_shared old_name <<<"$(grep " $name " "$work/old.list")"
        if [ -z "$old_file" ] || [ "$old_code $old_shared" = "$code $shared" ]; then
            passed=$((passed + 1))
        elif same_in_ptx "$old_file" "$file" "$old_name" "$name" "$arch"; then
            echo "$arch: $name: its arguments have moved; the same otherwise"
            passed=$((passed + 1))
        else
            echo "$arch: $name differs"
            failed=$((failed + 1))
        fi
    done <"$work/new.list"
    echo "$arch: $(wc -l <"$work/new.list") kernels"
}

if [ -x "$nvcc" ]; then
    for side in old new; do
        for source in "$work/$side"/src/kernels/*"${KERNELS:-}"*.cu; do
            for architecture in sm_80 sm_90; do
                while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do
                    wait -n
                done
                compile "$side" "src/kernels/$(basename "$source")" "$architecture" &
            done
        done
    done
    wait
    if [ -f "$work/trouble" ]; then
        cat "$work/trouble"
        failed=$((failed + 1))
    else
        compare_kernels sm_80
        compare_kernels sm_90
    fi
else
    echo "kernels: no nvcc"
    skipped=$((skipped + 1))
fi

# ---- launches ----------------------------------------------------------------------------------------------------
log_of() { # SIDE
    (cd "$work/$1" && cmake -S . -B build -DCOHORT_CUDA=OFF -DCOHORT_EXAMPLES=OFF >build.log 2>&1 &&
        cmake --build build -j "$jobs" --target test_launches >>build.log 2>&1) || { tail -n 5 "$work/$1/build.log"; return 1; }
    for seed in 1 2 3; do
        (cd "$work/$1/build" && COHORT_LAUNCH_LOG=$work/$1.$seed tests/test_launches --device sim:1 --seed $seed) || return 1
    done
}
if [ -f "$work/old/tests/context/test_launches.c" ]; then
    for side in old new; do
        log_of $side >"$work/$side.out" 2>&1 || { echo "launches: $side:"; cat "$work/$side.out"; }
    done
    for seed in 1 2 3; do
        renamed <"$work/old.$seed" >"$work/old.renamed" && mv "$work/old.renamed" "$work/old.$seed"
        if [ -s "$work/old.$seed" ] && cmp -s "$work/old.$seed" "$work/new.$seed"; then
            passed=$((passed + 1))
        else
            echo "launches differ with --seed $seed:"
            diff "$work/old.$seed" "$work/new.$seed" 2>&1 | head -n 20
            failed=$((failed + 1))
        fi
    done
else
    echo "launches: $1 has no tests/context/test_launches.c"
    skipped=$((skipped + 1))
fi
printf '\n%d passed, %d failed, %d skipped\n' $passed $failed $skipped
[ $failed -eq 0 ]
