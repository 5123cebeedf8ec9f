# SPDX-License-Identifier: MIT
# Writes texts as arrays of a C file:  cmake -DOUTPUT=x.c -DHEADER=page.h "-DTEXTS=name=file;…" -P EmbedText.cmake
# Each becomes `const char name[]`, with a zero at its end. Bytes, since a string of C has a length that it may have.
set(source "/* Made by EmbedText.cmake. */\n#include \"${HEADER}\"\n")
foreach(text IN LISTS TEXTS)
  string(REGEX MATCH "^([^=]+)=(.+)$" found "${text}")
  set(name "${CMAKE_MATCH_1}")
  file(READ "${CMAKE_MATCH_2}" bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
  string(APPEND source "const char ${name}[] = {${bytes}0};\n")
endforeach()
file(WRITE "${OUTPUT}" "${source}")
