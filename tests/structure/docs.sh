# The code in the pages: every block compiles, whole programs print what the page says, patches apply.
# Sourced by run.sh.
#
#   ```c              a piece: the body of a function that sees the names of fragment.h
#   ```c complete     a program; what it prints is in a block ```text prints after it, if there is one
#   ```cuda           a text for nvcc
#   ```diff           patches against the tree; those of one page are applied together
pages=$(ls docs/*.md docs/measurements/*.md README.md CONTRIBUTING.md 2>/dev/null)

# Each block goes to a file of its own, $scratch/docs/KIND.N; prints that name, the page, the line.
mkdir -p "$scratch/docs"
# shellcheck disable=SC2086
awk -v out="$scratch/docs/" '
    function begin(kind) {
        file = out kind "." (kind == "prints" ? programs : ++n)
        programs = kind == "program" ? n : programs
        printf "" >file
        if (kind != "prints")
            print file, FILENAME, FNR
    }
    FNR == 1 { inside = 0 }
    inside && /^```$/ { inside = 0; close(file); next }
    inside { print >file; next }
    /^```/ { inside = 1; file = "/dev/null" }
    /^```c$/ { begin("piece") }
    /^```c complete$/ { begin("program") }
    /^```cuda$/ { begin("cuda") }
    /^```diff$/ { begin("diff") }
    /^```text prints$/ { begin("prints") }
' $pages >"$scratch/docs/list"

# each KIND COMMAND: runs it with FILE, PAGE:LINE for each block of the kind.
each() {
    local file page line
    grep "/$1\\." "$scratch/docs/list" | while read -r file page line; do
        "$2" "$file" "$page:$line"
    done
}

check_piece() {
    {
        cat tests/structure/fragment.h
        printf 'void fragment(void);\nvoid fragment(void)\n{\n#line %d "%s"\n' $((${2##*:} + 1)) "${2%:*}"
        cat "$1"
        echo '}'
    } >"$1.c"
    attempt cc -std=gnu11 -fsyntax-only -Wall -Wextra -Werror -Wno-unused -I include "$1.c"
}
report "pieces of C in the pages compile" "$(each piece check_piece)"

cx16=$([ "$(uname -m)" != x86_64 ] || echo -mcx16)
check_program() {
    { printf '#line %d "%s"\n' $((${2##*:} + 1)) "${2%:*}"; cat "$1"; } >"$1.c"
    # shellcheck disable=SC2086
    attempt cc -std=gnu11 -Wall -Wextra -Werror $cx16 -I include -o "$1.out" "$1.c" -L "$build" -lcohort \
        -Wl,-rpath,"$build" -lpthread
    [ -x "$1.out" ] || return
    (cd "$scratch/docs" && COHORT_DEVICE=cpu attempt "$1.out")
    [ ! -f "${1/program/prints}" ] || diff "${1/program/prints}" "$scratch/attempt.log" || echo "printed by $2"
}
report "programs in the pages print what is said there" "$(each program check_program)"

check_cuda() {
    cp "$1" "$1.cu"
    attempt "$nvcc" -ptx -arch=compute_90 -std=c++17 -allow-unsupported-compiler -I include -o "$1.ptx" "$1.cu"
}
if [ -x "$nvcc" ]; then
    report "kernels in the pages compile" "$(each cuda check_cuda)"
else
    skip "kernels in the pages compile" "nvcc not found"
fi

check_patches() {
    local page
    for page in $(awk '/\/diff\./ { print $2 }' "$scratch/docs/list" | sort -u); do
        awk -v page="$page" '/\/diff\./ && $2 == page { print $1 }' "$scratch/docs/list" | xargs cat >"$scratch/docs/patch"
        attempt patch --dry-run -p1 -F 3 -i "$scratch/docs/patch"
        ! grep -q '^--- /dev/null' "$scratch/docs/patch" || check_added
    done
}

# The C texts that a page adds compile in a tree that has all of its patches.
check_added() {
    local file
    rm -rf "$scratch/docs/tree"
    mkdir "$scratch/docs/tree"
    cp -R include src tests scripts "$scratch/docs/tree"
    attempt patch -s -d "$scratch/docs/tree" -p1 -F 3 -i "$scratch/docs/patch"
    grep -A 1 '^--- /dev/null' "$scratch/docs/patch" | sed -n 's|^+++ b/||p' | while read -r file; do
        case $file in
        # shellcheck disable=SC2086
        *.c | *.cu) (cd "$scratch/docs/tree" && attempt cc -std=gnu11 -fsyntax-only -Wall -Wextra -Werror $cx16 -DCOHORT_SIM -x c \
            -I include -I src -I tests -I tests/sim "$file") ;;
        esac
    done
}
if command -v patch >/dev/null; then
    report "patches in the pages apply" "$(check_patches)"
else
    skip "patches in the pages apply" "patch not found"
fi

# The figures in the pages are those of bench/figures.
figures="figures and drawings in the pages are made from bench/figures"
if [ -x "$build/cohort" ] && ! "$build/cohort" info --device cpu | grep -q ', no jansson;'; then
    # shellcheck disable=SC2046
    report "$figures" "$(attempt "$build/cohort" bench pages --check $(grep -l '^<!-- figures:' README.md docs/*.md docs/measurements/*.md))"
else
    skip "$figures" "the tool is not built, or without libjansson"
fi

# Whoever reads a page as it is needs no wide window; tables and code are as wide as they must be.
check_widths() {
    # shellcheck disable=SC2086
    awk 'FNR == 1 { code = 0 }
         /^ *```/ { code = !code }
         !code && !/^\|/ && length($0) > 120 { print FILENAME ":" FNR ": " length($0) " columns" }' $pages
}
report "no line of a page has more than 120 columns" "$(check_widths)"

# A figure that prose quotes is followed by a comment `quoted: FILE; NAME; WORD...; FIGURE`. A WORD is one of
# the row's strings, or `load 0.8`. Exactly one row of bench/figures/FILE that is not a peer's has all of
# them. Its median is FIGURE, which stands in the same line of the page.
check_quoted() {
    # shellcheck disable=SC2086
    grep -n '<!-- quoted: ' $pages | awk -v from=bench/figures/ '
        function number(row, name) { sub(".*\"" name "\": ", "", row); sub("[,}].*", "", row); return row + 0 }
        {
            shown = quoted = $0
            sub(/<!-- quoted: .*/, "", shown)
            sub(/.*<!-- quoted: /, "", quoted)
            sub(/ -->.*/, "", quoted)
            n = split(quoted, word, "; ")
            figure = word[n]
            decimals = figure ~ /[.]/ ? length(figure) - index(figure, ".") : 0
            word[2] = "\"name\": \"" word[2] "\""
            for (i = 3; i < n; i++)
                word[i] = word[i] ~ /^load / ? "\"load\": " substr(word[i], 6) "," : "\"" word[i] "\""
            rows = 0
            while ((getline row < (from word[1])) > 0) {
                fits = row ~ /"median"/ && row !~ /"peer"/
                for (i = 2; i < n; i++)
                    fits = fits && index(row, word[i])
                if (fits) {
                    rows++
                    seen = sprintf("%." decimals "f", number(row, "median") * number(row, "scale"))
                }
            }
            close(from word[1])
            if (rows != 1) print shown ": " rows " rows of " word[1] " fit"
            else if (seen != figure) print shown ": the row has " seen
            else if (!index(shown, figure)) print shown ": does not show " figure
        }'
}
report "figures that pages quote are those of bench/figures" "$(check_quoted)"

# The manual page has every option of the help and no other, and every word that such an option takes.
check_manual() {
    local command what word
    for command in count sort split set info bench; do
        "$build/cohort" $command --help
    done 2>&1 | grep -oE -- '--[a-z][a-z0-9-]*' | LC_ALL=C sort -u >"$scratch/help.options"
    grep -oE -- 'Fl -[a-z][a-z0-9-]*' docs/cohort.1 | sed 's/^Fl /-/' | LC_ALL=C sort -u >"$scratch/manual.options"
    LC_ALL=C comm -23 "$scratch/help.options" "$scratch/manual.options" | sed 's/^/in the help alone: /'
    LC_ALL=C comm -13 "$scratch/help.options" "$scratch/manual.options" | grep -vxE -- '--(help|version)' | sed 's/^/in the manual alone: /'
    for what in 'map --experiment' 'multisplit --experiment' 'sort --experiment' 'multisplit --method' 'multisplit --input' \
        'map --width' 'multisplit --width'; do
        # shellcheck disable=SC2086
        for word in $("$build/cohort" bench $what none-such 2>&1 | sed -n 's/.*: must be //p' | sed 's/ or / /g; s/,//g'); do
            grep '^\.Cm' docs/cohort.1 | grep -qwF -- "$word" || echo "bench $what $word: not in the manual"
            "$build/cohort" bench --help | grep -qF -- "$word" || echo "bench $what $word: not in the help"
        done
    done
}
manual="the manual page and the help tell the same options"
if [ -x "$build/cohort" ]; then
    report "$manual" "$(check_manual)"
else
    skip "$manual" "the tool is not built"
fi

# Commands in the pages have options and experiments that there are.
check_commands() {
    local command option name
    # shellcheck disable=SC2086
    cat $pages | tr '\n' ' ' | grep -oE '`(build/)?cohort (count|sort|split|info|bench) [^`]*`' | LC_ALL=C sort -u >"$scratch/commands"
    while read -r command; do
        for option in $(grep -oE -- ' --[a-z][a-z0-9-]*' <<<"$command"); do
            [ "$option" = --help ] || grep -qxF -- "$option" "$scratch/help.options" || echo "$command: there is no $option"
        done
        for name in $(sed -nE 's/.* --experiment ([a-z,]+).*/\1/p' <<<"$command" | tr ',' ' '); do
            "$build/cohort" bench --help | grep -qwF -- "$name" || echo "$command: there is no experiment $name"
        done
    done <"$scratch/commands"
}
commands="commands in the pages have options that there are"
if [ -x "$build/cohort" ]; then
    report "$commands" "$(check_commands)"
else
    skip "$commands" "the tool is not built"
fi

# Versions of PyPI's packages stand in one file, which has one of every package that a script names.
check_pins() {
    local pins=tests/python/requirements.txt word
    git grep -nE '[a-z0-9]==[0-9]+\.[0-9]' -- '*.sh' '*.txt' '*.toml' Makefile .ci | grep -v "^$pins:"
    git grep -hE '( -c "?\$pins"? |^(packages|audits)=")' -- '*.sh' |
        sed -nE 's/.*( -c "?\$pins"? |^(packages|audits)=")([a-z0-9 -]+).*/\3/p' | tr ' ' '\n' | grep . | sort -u |
        while read -r word; do
            grep -q "^$word==" "$pins" || echo "$pins has no version of $word"
        done
    git grep -nE 'pip"? (install|download) ' -- '*.sh' Makefile .ci | grep -vE -e ' -c "?\$pins"? ' -e '--no-index'
}
report "versions of PyPI's packages stand in one file" "$(check_pins)"
