# shellcheck shell=bash
# Completion of kstat2's command line for bash: its options, and URIs a segment at a time with their
# statistics. The URIs are those that are published now.

# _kstat2_names PROGRAM BEGINNING: each way to go on. BEGINNING is a path; with a colon behind it, each
# statistic that is there.
_kstat2_names() {
    "$1" -l 2>/dev/null | awk -v begin="$2" '
        {
            sub(/^kstat:/, "")
            colon = index($0, ":")
            path = substr($0, 1, colon - 1)
        }
        index(begin, ":") {
            if (index($0, begin) == 1) print substr($0, colon + 1)
            next
        }
        index(path, begin) == 1 {
            rest = substr(path, length(begin) + 1)
            slash = index(rest, "/")
            text = slash ? begin substr(rest, 1, slash) : path
            if (!seen[text]++) print text
        }'
}

_kstat2() {
    local program=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} words whole
    case ${COMP_WORDS[COMP_CWORD - 1]}:$word in
        -T:*) words='d u' ;;
        -[cigr]:*) words='' ;;
        *:-*) words='--help -c -d -g -h -i -j -l -m -p -q -r -T' ;;
        *)
            # bash takes the word apart at each colon: find the whole.
            whole=${COMP_LINE:0:COMP_POINT}
            whole=${whole##*[[:blank:]]}
            whole=${whole#kstat:}
            # shellcheck disable=SC2207  # no candidate has a blank in it
            COMPREPLY=($(_kstat2_names "$program" "${whole:-/}"))
            [[ ${COMPREPLY[*]-} != */ ]] || compopt -o nospace 2>/dev/null
            return 0
            ;;
    esac
    # shellcheck disable=SC2207
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    return 0
}

complete -F _kstat2 kstat2
