# shellcheck shell=bash
# Completion of iostat's command line for bash: its options, and the devices that are there now.

_iostat() {
    local word=${COMP_WORDS[COMP_CWORD]} program=${COMP_WORDS[0]} words
    case ${COMP_WORDS[COMP_CWORD - 1]}:$word in
        -T:*) words='d u' ;;
        --style:*) words='freebsd solaris' ;;
        -l:*) return 0 ;;
        *:-*) words="$("$program" --help 2>/dev/null | _iostat_options) --clients --help --must-exist --style" ;;
        # A report has two lines of headers, and with -n the name at the end of each line.
        *) words=$("$program" -xn 2>/dev/null | awk 'NR > 2 { print $NF }') ;;
    esac
    local IFS=$' \n'
    # shellcheck disable=SC2207  # no candidate has a blank in it
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    return 0
}

# The letters in the brackets of the synopsis, each an option.
_iostat_options() {
    grep -o '\[-[A-Za-z]*' | sed 's/^\[-//' | grep -o . | sed 's/^/-/'
}

complete -F _iostat iostat
