# SPDX-License-Identifier: MIT
# Finds every library that this configuration needs, and names all that are missing in one message.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

set(LOCUS_MISSING "")

# locus_find(NAME header library package): sets NAME_INCLUDE_DIR and NAME_LIBRARY.
macro(locus_find name header library package)
  find_path(${name}_INCLUDE_DIR ${header})
  find_library(${name}_LIBRARY ${library})
  mark_as_advanced(${name}_INCLUDE_DIR ${name}_LIBRARY)
  if(NOT ${name}_INCLUDE_DIR OR NOT ${name}_LIBRARY)
    list(APPEND LOCUS_MISSING "${package}")
  endif()
endmacro()

if(LOCUS_LAB)
  locus_find(DNNL dnnl.h dnnl libdnnl-dev)
  locus_find(SQLITE sqlite3.h sqlite3 libsqlite3-dev)
  locus_find(CJSON cjson/cJSON.h cjson libcjson-dev)
  locus_find(CURL curl/curl.h curl libcurl4-openssl-dev)
  locus_find(ARCHIVE archive.h archive libarchive-dev)
  locus_find(PNG png.h png libpng-dev)
  locus_find(JPEG jpeglib.h jpeg libjpeg-dev)
  locus_find(CRYPTO openssl/evp.h crypto libssl-dev)
  locus_find(UTF8PROC utf8proc.h utf8proc libutf8proc-dev)
  # oneDNN runs on GCC's OpenMP; the laboratory tells it to stay on one thread. Named by its file, because a clang build
  # would otherwise bring a second OpenMP runtime.
  set(LAB_LIBRARIES ${DNNL_LIBRARY} ${SQLITE_LIBRARY} ${CJSON_LIBRARY} ${PNG_LIBRARY} ${JPEG_LIBRARY}
      ${CRYPTO_LIBRARY} ${UTF8PROC_LIBRARY} -l:libgomp.so.1)
  set(LAB_INCLUDE_DIRS ${DNNL_INCLUDE_DIR} ${SQLITE_INCLUDE_DIR} ${CJSON_INCLUDE_DIR} ${CURL_INCLUDE_DIR}
      ${ARCHIVE_INCLUDE_DIR} ${PNG_INCLUDE_DIR} ${JPEG_INCLUDE_DIR} ${CRYPTO_INCLUDE_DIR} ${UTF8PROC_INCLUDE_DIR})
endif()

# locus_late_file(NAME variable): the file by which a library is loaded when it is needed (lab/io/published/late_library.h).
function(locus_late_file name variable)
  execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${${name}_LIBRARY} OUTPUT_VARIABLE said ERROR_QUIET)
  if(said MATCHES "SONAME +([^ \n]+)")
    set(${variable} ${CMAKE_MATCH_1} PARENT_SCOPE)
  else()
    message(WARNING "${${name}_LIBRARY} names no shared library to load: it is looked for under that very path")
    set(${variable} ${${name}_LIBRARY} PARENT_SCOPE)
  endif()
endfunction()

if(LOCUS_TESTS)
  locus_find(CMOCKA cmocka.h cmocka libcmocka-dev)
  locus_find(LAPACKE lapacke.h lapacke liblapacke-dev) # what our own eigenvalues are compared with
endif()

if(LOCUS_MISSING)
  list(REMOVE_DUPLICATES LOCUS_MISSING)
  list(JOIN LOCUS_MISSING " " missing)
  message(FATAL_ERROR "Libraries are missing. On Debian or Ubuntu: apt-get install ${missing}\n"
    "(or ./dev build, which installs them; -DLOCUS_LAB=OFF -DLOCUS_TESTS=OFF builds liblocus alone, with the C library only)")
endif()
