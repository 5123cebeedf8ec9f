# SPDX-License-Identifier: MIT
# bash completion for locus; made by 'locus completion bash'

_locus()
{
    local line word kind= open=${COMP_WORDS[COMP_CWORD]:0:1}
    COMPREPLY=()
    while IFS= read -r line; do
        if [ -z "$kind" ]; then kind=$line; continue; fi
        word=${line%%$'\t'*}
        case $open:$word in # bash quotes no word that is not a file's
        \':*\'* | \":*[\"\\\$\`!]*) continue ;;
        [\'\"]:*) ;;
        *[![:alnum:].,:=@%+/_-]*) printf -v word %q "$word" ;;
        esac
        COMPREPLY+=("$word")
    done < <(locus completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    case ${COMPREPLY[*]} in *[=\(:]) [ ${#COMPREPLY[@]} -ne 1 ] || compopt -o nospace 2>/dev/null ;; esac
}

complete -o default -F _locus locus
