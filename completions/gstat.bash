# shellcheck shell=bash
# Completion of gstat's command line for bash: its options, and the devices as filters.

_gstat() {
    local word=${COMP_WORDS[COMP_CWORD]} program=${COMP_WORDS[0]} words
    case ${COMP_WORDS[COMP_CWORD - 1]}:$word in
        # Two lines stand above the devices.
        -f:*) words=$("$program" -b -I 1ms 2>/dev/null | awk 'NR > 2 { print $NF }') ;;
        -I:*) words='100ms 1s 10s' ;;
        *) words="$("$program" --help 2>/dev/null | grep -o '^  -[A-Za-z]' | tr -d ' ') --help" ;;
    esac
    local IFS=$' \n'
    # shellcheck disable=SC2207  # no candidate has a blank in it
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    return 0
}

complete -F _gstat gstat
