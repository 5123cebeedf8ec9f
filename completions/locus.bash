# SPDX-License-Identifier: MIT
# bash completion for locus; made by 'locus completion bash'

_locus()
{
    local line kind=
    COMPREPLY=()
    while IFS= read -r line; do
        if [ -z "$kind" ]; then kind=$line; else COMPREPLY+=("${line%%$'\t'*}"); fi
    done < <(locus completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    case ${COMPREPLY[*]} in *[=\(:]) [ ${#COMPREPLY[@]} -ne 1 ] || compopt -o nospace 2>/dev/null ;; esac
}

complete -o default -F _locus locus
