# check.sh: for the scripts of this folder, which read it in: cases that are commands. Output goes to $log.
passed=0 bad=0
# check NAME COMMAND...
check() {
    local name=$1
    shift
    if "$@" >"$log" 2>&1; then
        echo "ok   $name"
        passed=$((passed + 1))
    else
        echo "FAIL $name"
        tail -n 40 "$log"
        bad=$((bad + 1))
    fi
}
