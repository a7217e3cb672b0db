# What the shared library needs, exports and refrains from; headers on their own. Sourced by run.sh.
library=$build/libcohort.so

report "libcohort.so needs libc and nothing else" \
    "$(ldd "$library" | awk '{ print $1 }' | grep -vE '^(linux-vdso|linux-gate|.*/ld-linux[^/]*|libc)\.so')"

version_part() {
    sed -n "s/^#define COHORT_VERSION_$1 //p" include/cohort/context.h
}
version=$(version_part MAJOR).$(version_part MINOR).$(version_part PATCH)
soname=$(readelf -d "$library" | sed -n 's/.*soname: \[\(.*\)\]/\1/p')
report "the soname carries the major version" \
    "$([ "$soname" = "libcohort.so.$(version_part MAJOR).$(version_part MINOR)" ] || echo "soname is '$soname', version $version")"

nm -D --defined-only "$library" | awk '{ print $NF }' | sort >"$scratch/exported"
cat include/cohort/*.h | tr '\n' ' ' | grep -oE 'COHORT_API [^;{]*' |
    sed -E 's/\(.*//; s/.*[ *](cohort_[a-z0-9_]+)$/\1/' | grep '^cohort_' | sort -u >"$scratch/declared"
report "exported symbols start with cohort_" "$(grep -v '^cohort_' "$scratch/exported")"
report "what the headers declare is exported, and no more" \
    "$(diff "$scratch/declared" "$scratch/exported" |
        sed -n 's/^< /declared, not exported: /p; s/^> /exported, not declared: /p')"

report "libcohort.a defines no names but cohort_*" \
    "$(nm -g --defined-only "$build/libcohort.a" 2>/dev/null | awk 'NF == 3 && $3 !~ /^cohort_/ { print $3 }')"

report "the library neither prints nor ends the program" \
    "$(nm -D --undefined-only "$library" | awk '{ sub(/@.*/, "", $NF); print $NF }' |
        grep -xE '_?_?v?printf(_chk)?|puts|putchar|perror|stdout|stderr|abort|_?exit|_Exit|__assert_fail')"

# ---- headers -----------------------------------------------------------------------------------------------------
check_headers() { # COMPILER LANGUAGE FLAGS...
    local header compiler=$1 language=$2
    shift 2
    for header in include/cohort.h include/cohort/*.h; do
        attempt "$compiler" -x "$language" -fsyntax-only -Wall -Wextra -Wpedantic -Werror "$@" -I include \
            -include "$header" /dev/null
    done
}
report "each public header compiles alone as C11" "$(check_headers cc c -std=c11)"
if command -v c++ >/dev/null; then
    report "each public header compiles alone as C++11" "$(check_headers c++ c++ -std=c++11)"
else
    skip "each public header compiles alone as C++11" "no C++ compiler"
fi

nvcc=$(sed -n 's/^COHORT_NVCC_PROGRAM:FILEPATH=//p' "$build/CMakeCache.txt")
check_device_headers() {
    local header
    for header in include/cohort/device/*.h; do
        [[ ! $header =~ /lane_|_width|_instances|_operations|_end ]] || continue # parts of lane.h, map.h, lines.h
        echo "#include <cohort/device/$(basename "$header")>" >"$scratch/header.cu"
        attempt "$nvcc" -ptx -arch=compute_90 -std=c++17 -allow-unsupported-compiler -I include \
            -o "$scratch/header.ptx" "$scratch/header.cu"
    done
}
if [ -x "$nvcc" ]; then
    report "each device header compiles alone with nvcc" "$(check_device_headers)"
else
    skip "each device header compiles alone with nvcc" "nvcc not found"
fi
