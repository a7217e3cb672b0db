# Which layer may include which, and what each file may hold. Sourced by run.sh.

# layer PATH: the layer that a file of ours belongs to.
layer() {
    case $1 in
    include/cohort/device/*) echo device ;;
    include/*) echo public ;;
    src/*/*) echo "$1" | cut -d / -f 2 ;;
    src/backend.h) echo backend ;;
    src/*.h) echo core ;; # what both sides of backend.h hold in common: the context, its pool
    cli/* | bench/*) echo "$1" | cut -d / -f 1 ;;
    tests/sim/*) echo sim ;;
    *) echo other ;;
    esac
}

# below LAYER: the layers that it may include. api and the backends meet at backend.h and nowhere else.
below() {
    case $1 in
    public) echo public ;;
    device) echo device ;;
    core) echo core shape public ;;
    backend) echo core shape public ;;
    api) echo api backend core io shape public ;;
    io) echo io core public ;;
    cpu) echo cpu backend core shape device public ;;
    cuda) echo cuda backend core io shape device public ;;
    shape) echo shape device ;;
    kernels) echo kernels shape device ;;
    cli | bench) echo cli bench public ;;
    esac
}

# resolve FILE NAME: the path of an included file of ours, or nothing.
resolve() {
    local folder
    for folder in "$(dirname "$1")" include src cli bench tests/sim; do
        if [ -f "$folder/$2" ]; then
            realpath --relative-to=. "$folder/$2"
            return
        fi
    done
}

includes() {
    sed -nE 's/^[ \t]*#[ \t]*include[ \t]*([<"][^>"]*)[>"].*/\1/p' "$1"
}

check_includes() {
    local file name path from to
    find include src cli bench -path bench/peers -prune -o \( -name '*.[ch]' -o -name '*.cu' \) -print | sort |
        while read -r file; do
            from=$(layer "$file")
            includes "$file" | while read -r name; do
                path=$(resolve "$file" "${name:1}")
                to=$(layer "$path")
                if [ -z "$path" ]; then
                    [ "${name:0:1}" = '<' ] || echo "$file: \"${name:1}\" is not there"
                    [[ ! ${name:1} =~ ^(cuda|nv) ]] || echo "$file: <${name:1}>: CUDA's headers are not needed to build"
                elif [ "$to" = sim ]; then
                    [ "$from" = device ] || echo "$file: ${name:1}: only the device headers know the simulator"
                elif [[ ! " $(below "$from") " =~ " $to " ]]; then
                    echo "$file: ${name:1}: $from must not include $to"
                elif [[ $from =~ ^(cli|bench)$ && $to = public && $path != include/cohort.h ]]; then
                    echo "$file: ${name:1}: include <cohort.h>"
                fi
            done
        done
}
report "includes go one way" "$(check_includes)"

report "kernels include nothing of the system's" \
    "$(grep -nE '^[ \t]*#[ \t]*include[ \t]*<' src/kernels/* src/shape/* 2>/dev/null)"

report "no question about the platform above backend.h" \
    "$(grep -rnE '^[ \t]*#[ \t]*(if|ifdef|ifndef|elif)\b.*(CUDA|NVCC|NVRTC|GPU|COHORT_SIM)' \
        src/api src/io src/backend.h include/cohort.h include/cohort/*.h cli bench --include='*.[ch]' 2>/dev/null |
        grep -v '^bench/peers/')"

report "the same name in every layer" "$(
    for file in src/cuda/*.c src/cpu/*.c; do
        name=$(basename "$file" .c)
        if [ -f "src/api/$name.c" ] && [ "$name" != context ]; then
            for layer in cpu cuda; do
                [ -f "src/$layer/$name.c" ] || echo "src/api/$name.c has no src/$layer/$name.c"
            done
        fi
    done | sort -u)"

sources() {
    find include src cli bench tests examples \( -name '*.[ch]' -o -name '*.cu' -o -name '*.sh' \) -print
}
report "no file is longer than 900 lines" \
    "$(sources | xargs wc -l | awk '$1 > 900 && $2 != "total" { print $2 ": " $1 " lines" }')"

report "nothing is marked as unfinished" \
    "$(sources | grep -v '^tests/structure/' | xargs grep -nE '\b(TODO|FIXME|XXX)\b')"
