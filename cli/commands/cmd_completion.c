/* SPDX-License-Identifier: MIT */
/* locus completion: scripts for shells, which ask the program what may stand next, and the man page. The files in
 * completions/ and man/ are its output; a test compares them. */
#include "command.h"
#include "completion.h"
#include "output.h"

#include <string.h>

/* %s: how the program is called, with the plugins that it was called with. */
static const char bash_script[] =
    "# SPDX-License-Identifier: MIT\n"
    "# bash completion for locus; made by 'locus completion bash'\n"
    "\n"
    "_locus()\n"
    "{\n"
    "    local line word kind= open=${COMP_WORDS[COMP_CWORD]:0:1}\n"
    "    COMPREPLY=()\n"
    "    while IFS= read -r line; do\n"
    "        if [ -z \"$kind\" ]; then kind=$line; continue; fi\n"
    "        word=${line%%$'\\t'*}\n"
    "        case $open:$word in # bash quotes no word that is not a file's\n"
    "        \\':*\\'* | \\\":*[\\\"\\\\\\$\\`!]*) continue ;;\n"
    "        [\\'\\\"]:*) ;;\n"
    "        *[![:alnum:].,:=@%+/_-]*) printf -v word %q \"$word\" ;;\n"
    "        esac\n"
    "        COMPREPLY+=(\"$word\")\n"
    "    done < <(%s completion words -- \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null)\n"
    "    case ${COMPREPLY[*]} in *[=\\(:]) [ ${#COMPREPLY[@]} -ne 1 ] || compopt -o nospace 2>/dev/null ;; esac\n"
    "}\n"
    "\n"
    "complete -o default -F _locus locus\n";

static const char zsh_script[] =
    "#compdef locus\n"
    "# SPDX-License-Identifier: MIT\n"
    "# zsh completion for locus; made by 'locus completion zsh'\n"
    "\n"
    "_locus()\n"
    "{\n"
    "    local line word kind\n"
    "    local -a whole open\n"
    "    while IFS= read -r line; do\n"
    "        if [[ -z $kind ]]; then kind=$line; continue; fi\n"
    "        word=${line%%$'\\t'*}\n"
    "        line=\"${${word//\\\\/\\\\\\\\}//:/\\\\:}:${line#*$'\\t'}\"\n"
    "        if [[ $word == *[=\\(:] ]]; then open+=(\"$line\"); else whole+=(\"$line\"); fi\n"
    "    done < <(%s completion words -- \"${(@Q)words[2,CURRENT]}\" 2>/dev/null)\n"
    "    case $kind in\n"
    "    files) _files ;;\n"
    "    folders) _files -/ ;;\n"
    "    *) _describe -t words locus whole -- open -S '' ;;\n"
    "    esac\n"
    "}\n"
    "\n"
    "_locus \"$@\"\n";

static const char fish_script[] = "# SPDX-License-Identifier: MIT\n"
                                  "# fish completion for locus; made by 'locus completion fish'\n"
                                  "\n"
                                  "function __locus_answer\n"
                                  "    set -l words (commandline -opc)\n"
                                  "    set -e words[1]\n"
                                  "    set -l answer (%s completion words -- $words (commandline -ct) 2>/dev/null)\n"
                                  "    switch $answer[1]\n"
                                  "        case files folders\n"
                                  "            __fish_complete_path (commandline -ct)\n"
                                  "        case '*'\n"
                                  "            set -e answer[1]\n"
                                  "            string join -- \\n $answer\n"
                                  "    end\n"
                                  "end\n"
                                  "\n"
                                  "complete -c locus -f -a '(__locus_answer)'\n";

/* "locus --plugin F" of "locus --plugin F completion bash". */
static void print_script(const char *script, const char *line) {
    const char *end = strstr(line, " completion ");
    char call[1024];
    snprintf(call, sizeof call, "%.*s", end ? (int)(end - line) : 5, end ? line : "locus");
    const char *place = strstr(script, "%s");
    cli_print("%.*s%s%s", (int)(place - script), script, call, place + 2);
}

static int run(cli_arguments *arguments) {
    static const struct {
        const char *name, *script;
    } shells[] = {{"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}};
    char *const *words = arguments->operands;
    if (strcmp(words[0], "words") == 0) {
        cli_completion_words(arguments->commands, words + 1, arguments->operand_count - 1);
        return 0;
    }
    if (arguments->operand_count > 1)
        return cli_usage_error("completion: '%s' is one word too many", words[1]);
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
        if (strcmp(words[0], shells[i].name) == 0) {
            print_script(shells[i].script, arguments->command_line);
            return 0;
        }
    }
    if (strcmp(words[0], "man") != 0)
        return cli_usage_error("completion: '%s' is not one of bash, zsh, fish, man", words[0]);
    cli_completion_man(arguments->commands);
    return 0;
}

const cli_command cli_command_completion = {
    .name = "completion",
    .summary = "prints a completion script for bash, zsh or fish, or the man page",
    .operands = "bash|zsh|fish|man|words [WORD…]",
    .details =
        "The scripts ask 'locus completion words -- WORD…' for what may stand in place of the last word: commands, "
        "options, encodings and their options, tasks, runs of the store.",
    .examples = "locus completion bash > ~/.local/share/bash-completion/completions/locus\n"
                "locus completion zsh > ~/.zfunc/_locus\n"
                "locus completion fish > ~/.config/fish/completions/locus.fish\n",
    .run = run,
};
