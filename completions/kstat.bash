# shellcheck shell=bash
# Completion of kstat's command line for bash: its options, and module:instance:name:statistic a part
# at a time. The names are those of the kstats that are published now.

# _kstat_field PROGRAM NUMBER: what the kstats have in that part of their name.
_kstat_field() {
    "$1" -l 2>/dev/null | cut -d: -f"$2" | sort -u
}

# _kstat_parts PROGRAM BEGINNING: each way to go on by one part, with a colon if more may follow.
_kstat_parts() {
    local colons=${2//[^:]/}
    "$1" -l 2>/dev/null |
        awk -F: -v begin="$2" -v parts=$((${#colons} + 1)) '
            index($0, begin) != 1 || NF < parts { next }
            {
                text = $1
                for (i = 2; i <= parts; ++i) text = text ":" $i
                if (parts < NF) text = text ":"
                if (!seen[text]++) print text
            }'
}

_kstat() {
    local word=${COMP_WORDS[COMP_CWORD]} program=${COMP_WORDS[0]} words whole
    COMPREPLY=()
    local IFS=$' \n'
    case ${COMP_WORDS[COMP_CWORD - 1]}:$word in
        -T:*) words='d u' ;;
        -m:*) words=$(_kstat_field "$program" 1) ;;
        -i:*) words=$(_kstat_field "$program" 2) ;;
        -n:*) words=$(_kstat_field "$program" 3) ;;
        -s:*) words=$(_kstat_field "$program" 4) ;;
        -c:*) words=$("$program" -p -s class 2>/dev/null | cut -f2 | sort -u) ;;
        *:-*) words='-C -c -h -i -j -l -m -n -p -q -s -T' ;;
        *)
            # bash takes the word apart at each colon: find the whole, and offer what follows the last.
            whole=${COMP_LINE:0:COMP_POINT}
            whole=${whole##*[[:blank:]]}
            # shellcheck disable=SC2207  # no candidate has a blank in it
            COMPREPLY=($(_kstat_parts "$program" "$whole"))
            [[ ${COMPREPLY[*]-} != *: ]] || compopt -o nospace 2>/dev/null
            [[ $whole != *:* ]] || COMPREPLY=("${COMPREPLY[@]#"${whole%:*}:"}")
            return 0
            ;;
    esac
    # shellcheck disable=SC2207
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    return 0
}

complete -F _kstat kstat
