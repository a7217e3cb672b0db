# Which layer may include which, and what each file may hold. Sourced by run.sh.

# These answer in REPLY: there are thousands of includes, and a process for each takes long.
# layer PATH: the layer that a file of ours belongs to.
layer() {
    case $1 in
    include/cohort/device/*) REPLY=device ;;
    include/*) REPLY=public ;;
    src/*/*) REPLY=${1#src/} REPLY=${REPLY%%/*} ;;
    cli/* | bench/*) REPLY=${1%%/*} ;;
    tests/sim/*) REPLY=sim ;;
    *) REPLY=other ;;
    esac
}

# below LAYER: the layers that it may include. api and the backends meet at src/backend and nowhere else;
# src/core is what both sides hold in common: the context, its memory, which knows the backend's table for
# contexts.
below() {
    case $1 in
    public) REPLY=public ;;
    device) REPLY=device ;;
    core) REPLY='core backend shape public' ;;
    backend) REPLY='backend core shape public' ;;
    api) REPLY='api backend core io shape public' ;;
    io) REPLY='io core public' ;;
    cpu) REPLY='cpu backend core shape device public' ;;
    cuda) REPLY='cuda backend core io shape device public' ;;
    shape) REPLY='shape device' ;;
    kernels) REPLY='kernels shape device' ;;
    cli | bench) REPLY='cli bench public' ;;
    *) REPLY='' ;;
    esac
}

# resolve FILE NAME: the path of an included file of ours, or nothing.
resolve() {
    local folder
    for folder in "${1%/*}" include src cli bench tests/sim; do
        REPLY=$folder/$2
        if [ -f "$REPLY" ]; then
            [[ $REPLY != *./* && $REPLY != *//* ]] || REPLY=$(realpath --relative-to=. "$REPLY")
            return
        fi
    done
    REPLY=''
}

includes() {
    sed -nE 's/^[ \t]*#[ \t]*include[ \t]*([<"][^>"]*)[>"].*/\1/p' "$1"
}

check_includes() {
    local file name path from to allowed
    find include src cli bench -path bench/peers -prune -o \( -name '*.[ch]' -o -name '*.cu' \) -print | sort |
        while read -r file; do
            layer "$file"
            from=$REPLY
            below "$from"
            allowed=$REPLY
            includes "$file" | while read -r name; do
                resolve "$file" "${name:1}"
                path=$REPLY
                layer "$path"
                to=$REPLY
                if [ -z "$path" ]; then
                    [ "${name:0:1}" = '<' ] || echo "$file: \"${name:1}\" is not there"
                    [[ ! ${name:1} =~ ^(cuda|nv) ]] || echo "$file: <${name:1}>: CUDA's headers are not needed to build"
                elif [ "$to" = sim ]; then
                    [ "$from" = device ] || echo "$file: ${name:1}: only the device headers know the simulator"
                elif [[ ! " $allowed " =~ " $to " ]]; then
                    echo "$file: ${name:1}: $from must not include $to"
                elif [[ $from =~ ^(cli|bench)$ && $to = public && $path != include/cohort.h ]]; then
                    echo "$file: ${name:1}: include <cohort.h>"
                fi
            done
        done
}
report "includes go one way" "$(check_includes)"

# loops_of: reads edges, FROM TO a line, and prints a line for each loop among them.
loops_of() {
    tsort 2>&1 >/dev/null | sed -n 's/^tsort: -: .*loop:$/loop:/p; t; s/^tsort: / /p' | tr -d '\n' | sed 's/loop:/\nloop:/g; s/$/\n/' | grep .
}
check_include_loops() {
    local file name path
    find include src cli bench -path bench/peers -prune -o -name '*.h' -print | while read -r file; do
        includes "$file" | while read -r name; do
            resolve "$file" "${name:1}"
            [ -z "$REPLY" ] || echo "$file $REPLY"
        done
    done | loops_of
}
report "no header includes itself by way of others" "$(check_include_loops)"

report "no two kernels have one name" \
    "$(grep -ohE 'CO_KERNEL[A-Z_]*\([a-z][a-z0-9_]*,' src/kernels/*.cu | sort | uniq -d)"
report "kernels include nothing of the system's" \
    "$(grep -nE '^[ \t]*#[ \t]*include[ \t]*<' src/kernels/* src/shape/* 2>/dev/null)"

report "no question about the platform above src/backend" \
    "$(grep -rnE '^[ \t]*#[ \t]*(if|ifdef|ifndef|elif)\b.*(CUDA|NVCC|NVRTC|GPU|COHORT_SIM)' \
        src/api src/io src/core src/backend include/cohort.h include/cohort/*.h cli bench --include='*.[ch]' 2>/dev/null |
        grep -v '^bench/peers/')"

# A structure has a file of its name at the border and in every backend; if a part of it has one in the API
# and in one backend, then in both.
structures=$(sed -nE 's/^ *X\(([a-z_]+)\).*/\1/p' src/backend/backend.h)
report "the same name in every layer" "$(
    for structure in $structures; do
        for file in src/backend/$structure.h src/cpu/$structure.c src/cuda/$structure.c; do
            [ -f "$file" ] || echo "$structure is a structure in src/backend/backend.h: there is no $file"
        done
        for file in src/cpu/"${structure}"_*.c src/cuda/"${structure}"_*.c; do
            name=$(basename "$file")
            [ ! -f "src/api/$name" ] || { [ -f "src/cpu/$name" ] && [ -f "src/cuda/$name" ]; } ||
                echo "src/api/$name is in one backend only"
        done
    done | sort -u)"

# Every backend has every entry of every structure's table, and the entry E of the table of X is cpu_X_E, in
# cpu/X.c or cpu/X_E.c.
check_entries() {
    local header structure entry backend file
    for header in src/backend/*.h; do
        structure=$(basename "$header" .h)
        [ "$structure" != backend ] || continue
        [[ " ${structures//$'\n'/ } " == *" $structure "* ]] || echo "$header: $structure is not listed in src/backend/backend.h"
        sed -nE "/^struct ${structure}_backend \{/,/^\};/s/^ .*\(\*([a-z_]+)\)\(.*/\1/p" "$header" | while read -r entry; do
            for backend in cpu cuda; do
                for file in "src/$backend/$structure.c" "src/$backend/${structure}_$entry.c"; do
                    [ -f "$file" ] && grep -qE "^[a-z].*\b${backend}_${structure}_$entry\(" "$file" && break
                done || echo "$header: ${backend}_${structure}_$entry stands neither in src/$backend/$structure.c nor in ${structure}_$entry.c"
                grep -q "\.$entry = ${backend}_${structure}_$entry," "src/$backend/$structure.c" ||
                    echo "src/$backend/$structure.c: ${backend}_${structure}_backend has no entry $entry = ${backend}_${structure}_$entry"
            done
        done
    done
}
report "every entry of a table stands in the file of its name" "$(check_entries)"

sources() {
    find include src cli bench tests examples \( -name '*.[ch]' -o -name '*.cu' -o -name '*.sh' \) -print
}
# What a fork does to contexts rests on this (src/api/call.c). These have no context, or none yet, or may come
# from any thread.
report "every public function begins as a call" "$(
    awk '
        /^(cohort_status|void|const char \*) ?cohort_[a-z_0-9]*\(/ {
            name = $0; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name); begun = 0
        }
        /CALL\(|CALL_ON\(|CALL_TO_END\(|call_begin_to_end\(/ { begun = 1 }
        /^}/ {
            if (name != "" && !begun &&
                name !~ /^cohort_(fn_set_[a-z0-9]*|context_create|device_count|fn_log|frame_release|kmer_encode|kmer_letters|message|reads_[a-z]*|status_name|version)$/)
                print FILENAME ": " name
            name = ""
        }' src/api/*.c)"

report "no file is longer than 900 lines" \
    "$(sources | xargs wc -l | awk '$1 > 900 && $2 != "total" { print $2 ": " $1 " lines" }')"

# Fields of one declaration on two lines: `void *left,` and below it `*right;`.
check_width() {
    find include examples -name '*.[ch]' -o -name '*.cu' -path 'examples/*' | sort | xargs awk '
        length($0) > 110 { print FILENAME ":" FNR ": " length($0) " columns" }
        /^    (const |struct |unsigned )*[a-z_0-9]+ \**[a-z_0-9]+,$/ { print FILENAME ":" FNR ": a torn declaration" }'
}
report "headers and examples have lines of 110 columns at most, and no torn declarations" "$(check_width)"

report "nothing is marked as unfinished" \
    "$(sources | grep -v '^tests/structure/' | xargs grep -nE '\b(TODO|FIXME|XXX)\b')"

# Code is held to it by clang-format, but for tables of macros.
report "no line of a comment has more than 110 columns" \
    "$(sources | grep -v '\.sh$' | xargs awk 'length($0) > 110 && /^ *(\/\*|\*|\/\/)/ { print FILENAME ":" FNR ": " length($0) " columns" }')"
