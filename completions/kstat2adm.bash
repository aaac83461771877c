# shellcheck shell=bash
# Completion of kstat2adm's command line for bash: its subcommands, and what can be switched now.

_kstat2adm() {
    local program=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} whole ids
    case " ${COMP_WORDS[*]:1:COMP_CWORD-1} " in
        *' enable '* | *' disable '* | *' default '*)
            # bash takes an identifier apart at its colon: find the whole, and offer what follows it.
            whole=${COMP_LINE:0:COMP_POINT}
            whole=${whole##*[[:blank:]]}
            ids=$("$program" 2>/dev/null | awk 'NR > 1 { print $1 }')
            # shellcheck disable=SC2207  # no candidate has a blank in it
            COMPREPLY=($(compgen -W "$ids" -- "$whole"))
            [[ $whole != *:* ]] || COMPREPLY=("${COMPREPLY[@]#"${whole%:*}:"}")
            ;;
        *)
            # shellcheck disable=SC2207
            COMPREPLY=($(compgen -W '--help -v default disable enable' -- "$word"))
            ;;
    esac
    return 0
}

complete -F _kstat2adm kstat2adm
