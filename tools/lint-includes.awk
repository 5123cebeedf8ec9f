# SPDX-License-Identifier: MIT
# The dependency law, read from the #include lines of C files: dependencies point downward only.
#
#   liblocus    core ← algebra, linalg, kernels ← encoding ← attention
#   laboratory  io ← nn ← model ← train ← report,  io ← text ← task ← train;  sees liblocus through <locus/…> only
#   program     everything of the laboratory
#
# usage: awk -f tools/lint-includes.awk FILE…     names every include that breaks the law; status 1 if any does

BEGIN {
    allow("core", "core")
    allow("algebra", "core algebra")
    allow("linalg", "core linalg")
    allow("kernels", "core kernels")
    allow("encoding", "core algebra linalg kernels encoding")
    allow("attention", "core algebra linalg kernels encoding attention")
    allow("io", "io")
    allow("text", "io text")
    allow("nn", "io nn")
    allow("model", "io nn model")
    allow("task", "io text task")
    allow("train", "io text nn model task train")
    allow("report", "io text nn model task train report")
    allow("cli", "io text nn model task train report cli")

    # The room that each public header belongs to.
    public("core", "cpu memory parallel random status tensor version")
    public("algebra", "group path positions")
    public("encoding", "encoding fold pattern plan")
    public("attention", "attention cache locus")
}

function allow(room, rooms,    i, n, list) {
    n = split(rooms, list, " ")
    for (i = 1; i <= n; i++) allowed[room, list[i]] = 1
    known[room] = 1
}

function public(room, headers,    i, n, list) {
    n = split(headers, list, " ")
    for (i = 1; i <= n; i++) owner[list[i]] = room
}

function complain(text) {
    printf "%s:%d: %s\n", FILENAME, FNR, text
    broken = 1
}

FNR == 1 {
    split(FILENAME, part, "/")
    product = part[1]
    room = product == "cli" ? "cli" : part[2]
    if (product != "include" && !(room in known)) complain("room '" room "' is not in the dependency law (tools/lint-includes.awk)")
}

product == "include" && /^#[ ]*include[ ]*"/ { complain("a public header includes an internal one: " $0) }

# liblocus includes public headers of its own or lower rooms.
product == "src" && /^#[ ]*include[ ]*<locus\// {
    header = $0
    sub(/^[^<]*<locus\//, "", header)
    sub(/\.h>.*$/, "", header)
    if (!(header in owner)) complain("<locus/" header ".h> belongs to no room (tools/lint-includes.awk)")
    else if (!((room, owner[header]) in allowed)) complain("room '" room "' includes <locus/" header ".h> of room '" owner[header] "'")
}

/^#[ ]*include[ ]*"/ && product != "include" {
    header = $0
    sub(/^[^"]*"/, "", header)
    sub(/".*$/, "", header)
    target = header
    if (header !~ /\//) {
        if (product != "cli") complain("\"" header "\" does not name its room")
        next
    }
    sub(/\/.*$/, "", target)
    if (!((room, target) in allowed)) complain("room '" room "' must not include \"" header "\"")
}

END { exit broken }
