# shellcheck shell=bash
# Completion of blkscope's command line for bash; also works without the bash-completion package.

# _blkscope_uris: where the exports of this machine are served, the last column of blkscope list.
_blkscope_uris() {
    "$1" list 2>/dev/null | awk '$NF ~ /^nbds?(\+unix)?:/ { print $NF }'
}

# _blkscope_served: the devices that are served, the first column of blkscope list.
_blkscope_served() {
    "$1" list 2>/dev/null | awk '$NF ~ /^nbds?(\+unix)?:/ { print $1 }'
}

# bash takes the word apart at : and =, so what it replaces is only what follows the last of them.
_blkscope_offer() {
    local whole=${COMP_LINE:0:COMP_POINT} candidate common
    whole=${whole##*[[:blank:]]}
    common=${whole%"${COMP_WORDS[COMP_CWORD]#[:=]}"}
    for candidate in "$@"; do
        [[ $candidate == "$whole"* ]] && COMPREPLY+=("${candidate#"$common"}")
    done
    return 0
}

_blkscope_files() {
    local file
    compopt -o filenames 2>/dev/null
    while IFS= read -r file; do COMPREPLY+=("$file"); done < <(compgen -f -- "${1#=}")
}

# _blkscope_as_program ARGUMENT...: runs the program that _blkscope_program names.
_blkscope_as_program() {
    "$_blkscope_path" "$_blkscope_name" "$@"
}

# _blkscope_program NAME: completes the words behind NAME as those of that program. The file of its
# completion is beside this one. If another package's file has that name, ours is in a folder of its own.
_blkscope_program() {
    local file before folder=${BASH_SOURCE[0]%/*} _blkscope_path=${COMP_WORDS[0]} _blkscope_name=$1
    if ! declare -F "_$1" >/dev/null; then
        # Another package's program of this name keeps its completion.
        before=$(complete -p "$1" 2>/dev/null)
        for file in "$folder/$1.bash" "$folder/../../blkscope/completions/$1" "$folder/$1"; do
            # shellcheck disable=SC1090  # one of ours
            [[ -r $file ]] && source "$file" && break
        done
        complete -r "$1" 2>/dev/null
        [[ -z $before ]] || eval "$before"
        declare -F "_$1" >/dev/null || return 0
    fi
    local COMP_WORDS=(_blkscope_as_program "${COMP_WORDS[@]:2}") COMP_CWORD=$((COMP_CWORD - 1))
    "_$1"
}

_blkscope() {
    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        _blkscope_offer serve attach detach list clients explain slow trace replay predict models set fault clear-error crash check report stats top web iostat gstat kstat kstat2 help --help --version
        return
    fi
    case ${COMP_WORDS[1]} in
        iostat | gstat | kstat | kstat2) _blkscope_program "${COMP_WORDS[1]}" && return ;;
    esac
    case $previous in
        --attach) _blkscope_offer /dev/nbd[0-9]* && return ;;
        --unix | --config | --tls-certs | --tls-psk | --output | -o | --read | --since | --save | --token-file) _blkscope_files "$word" && return ;;
        --block-size) _blkscope_offer 512 1024 2048 4096 && return ;;
        --device)
            # shellcheck disable=SC2046  # a word for each line
            _blkscope_offer $(_blkscope_served "${COMP_WORDS[0]}") && return
            ;;
        --tls) _blkscope_offer off on require && return ;;
        --replies) _blkscope_offer simple structured extended && return ;;
        --upstream-resend) _blkscope_offer always never && return ;;
        --order) _blkscope_offer arrival fair && return ;;
        --client-by) _blkscope_offer connection peer address none && return ;;
        --format) _blkscope_offer csv json perfetto blktrace fio fio3 ours && return ;;
        --model) _blkscope_offer hdd7200 sata-ssd nvme && return ;;
        --arrivals)
            _blkscope_offer poisson: even:
            [[ ${COMPREPLY[*]} != *: ]] || compopt -o nospace 2>/dev/null
            return
            ;;
        --bind) _blkscope_offer 127.0.0.1 0.0.0.0 && return ;;
        --port | --allow | --queue-depth | --stats-rate | --client-stats | --description | --limit | --client-limit | --fault | --crash-cache | --seed | --upstream-timeout | --upstream-settle | --upstream-connections | --workers | --recorder | --max-connections | --max-handshakes | --handshake-timeout | --connections | --timeout | --interval | --speed | --closed | --for | --last | --over | --mix | --bytes | --size | --listen | --host)
            return ;;
    esac
    case ${COMP_WORDS[1]}:$word in
        serve:-*)
            _blkscope_offer --config --unix --port --bind --allow --stdio --queue-depth --order --direct \
                --read-only --force-shared --description --no-list --replies --no-histograms --stats-rate \
                --client-by --client-stats \
                --model --limit --client-limit --fault --crash-cache --seed --upstream-timeout --upstream-settle --upstream-connections --upstream-resend --upstream-wait --workers --recorder --no-busy-wait --max-connections --max-handshakes --handshake-timeout --tls --tls-certs --tls-verify-peer --tls-psk \
                --attach --connections --timeout --help
            ;;
        attach:-*)
            _blkscope_offer --connections --block-size --timeout --read-only --persist --help
            ;;
        detach:-*) _blkscope_offer --force --help ;;
        list:-*) _blkscope_offer --verbose --help ;;
        crash:-*) _blkscope_offer --all --help ;;
        clients:-*) _blkscope_offer --interval --help ;;
        predict:-*) _blkscope_offer --device --arrivals --closed --for --mix --bytes --sequential --speed --model --limit --queue-depth --size --seed --json --help ;;
        trace:-*) _blkscope_offer --for --last --format --output --read --device --help ;;
        replay:-*) _blkscope_offer --speed --closed --device --write --seed --timeout --help ;;
        slow:-*) _blkscope_offer --over --watch --wide --help ;;
        explain:-*) _blkscope_offer --upstream --last --help ;;
        models:-* | set:-* | fault:-* | clear-error:-*) _blkscope_offer --help ;;
        check:-*) _blkscope_offer --since --for --json --save --help ;;
        report:-*) _blkscope_offer --output --every --for --fail-unless --compare --fail-if-slower --help ;;
        stats:-*) _blkscope_offer --json --help ;;
        top:-*) _blkscope_offer --device --must-exist --no-color --batch --help ;;
        web:-*) _blkscope_offer --listen --host --token-file --tls-certs --tls-verify-peer --public --no-clients --help ;;
        predict:*) _blkscope_files "$word" ;;
        serve:*)
            _blkscope_offer memory: null: rbd:
            _blkscope_files "$word"
            [[ ${COMPREPLY[*]} != *: ]] || compopt -o nospace 2>/dev/null
            ;;
        attach:*)
            local IFS=$'\n'
            # shellcheck disable=SC2046  # a word for each line
            _blkscope_offer $(_blkscope_uris "${COMP_WORDS[0]}") /dev/nbd[0-9]*
            ;;
        detach:*) _blkscope_offer /dev/nbd[0-9]* ;;
        replay:*)
            if ((COMP_CWORD == 2)); then
                _blkscope_files "$word"
            else
                local IFS=$'\n'
                # shellcheck disable=SC2046  # a word for each line
                _blkscope_offer $(_blkscope_uris "${COMP_WORDS[0]}")
            fi
            ;;
        help:*) _blkscope_offer serve attach detach list clients explain slow trace replay predict models set fault clear-error crash check report stats top web iostat gstat kstat kstat2 ;;
        set:* | fault:* | clear-error:* | crash:*)
            if ((COMP_CWORD == 2)); then
                # shellcheck disable=SC2046  # a word for each line
                _blkscope_offer $(_blkscope_served "${COMP_WORDS[0]}")
            elif [[ ${COMP_WORDS[1]} == set ]]; then
                _blkscope_offer model= limit= client-limit= queue-depth= order=
                [[ ${COMPREPLY[*]} != *= ]] || compopt -o nospace 2>/dev/null
            elif [[ ${COMP_WORDS[1]} == fault ]] && ((COMP_CWORD == 3)); then
                _blkscope_offer add list clear
            fi
            ;;
        clients:* | trace:* | slow:* | explain:* | list:* | top:*)
            # shellcheck disable=SC2046  # a word for each line
            ((COMP_CWORD > 2)) || _blkscope_offer $(_blkscope_served "${COMP_WORDS[0]}")
            ;;
        stats:*)
            # shellcheck disable=SC2046  # a word for each line
            _blkscope_offer $(_blkscope_served "${COMP_WORDS[0]}")
            ;;
    esac
    return 0
}

complete -F _blkscope blkscope
