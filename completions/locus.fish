# SPDX-License-Identifier: MIT
# fish completion for locus; made by 'locus completion fish'

function __locus_answer
    set -l words (commandline -opc)
    set -e words[1]
    set -l answer (locus completion words -- $words (commandline -ct) 2>/dev/null)
    switch $answer[1]
        case files folders
            __fish_complete_path (commandline -ct)
        case '*'
            set -e answer[1]
            string join -- \n $answer
    end
end

complete -c locus -f -a '(__locus_answer)'
