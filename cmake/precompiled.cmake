# The library headers that most files include: parsed once for each kind of target, not once for each file.
#
# The walls stay as they are: a precompiled header has no header of ours in it. Each file still names every
# header that it uses. The preset debug compiles the product without them, and a file that names too few
# does not compile there.
#
# A compiler accepts a precompiled header only with the flags and macros of its making, hence the kinds.
# Libraries have -fPIC, those that use fmt also FMT_SHARED, and tests -fPIE. Other programs have few files.

set(precompiled_for_libraries
  <algorithm> <array> <atomic> <cassert> <cerrno> <charconv> <chrono> <cstddef> <cstdint> <cstdio>
  <cstdlib> <cstring> <functional> <map> <memory> <mutex> <optional> <span> <stdexcept> <string>
  <string_view> <system_error> <utility> <vector>)
set(precompiled_for_fmt ${precompiled_for_libraries} <fmt/format.h>)
set(precompiled_for_tests ${precompiled_for_libraries}
  <filesystem> <fstream> <random> <sstream> <thread> <gtest/gtest.h>)

# <bits/char_traits.h> switches such warnings off for itself with `#pragma GCC diagnostic`. g++ 12 forgets
# the pragma in a precompiled header, and with -O1 and -O2 then warns of std::string in correct files:
# tools/kstat2/usage.cpp is one.
set(precompiled_options
  $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-restrict;-Wno-stringop-overflow;-Wno-stringop-overread>)

function(targets_below folder result)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(below ${folders})
    targets_below(${below} more)
    list(APPEND targets ${more})
  endforeach()
  set(${result} ${targets} PARENT_SCOPE)
endfunction()

# precompiled_target(NAME LIBRARY OPTIONS HEADER...): a target that does nothing but precompile headers.
function(precompiled_target name library options)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/${name}.cpp CONTENT "")
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/${name}.cpp)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name} PRIVATE ${options} "${precompiled_options}")
  target_link_libraries(${name} PRIVATE house ${library})
  target_precompile_headers(${name} PRIVATE ${ARGN})
endfunction()

# C files of a target that has both languages do without.
function(use_precompiled target headers)
  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  foreach(source ${sources})
    if(source MATCHES "\\.c$")
      cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${folder})
      set_source_files_properties(${source} TARGET_DIRECTORY ${target}
        PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
  target_precompile_headers(${target} REUSE_FROM ${headers})
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${precompiled_options}>")
endfunction()

# The kind of a target, or nothing. clang takes a precompiled header only with the visibility that made it, so a
# target with another one has none. The targets of compat/ have none: their headers have the names of the C
# library's, and must be included first. Most of tests/ is compiled with options of its own.
function(precompiled_kind target result)
  get_target_property(type ${target} TYPE)
  get_target_property(sources ${target} SOURCES)
  get_target_property(libraries ${target} LINK_LIBRARIES)
  get_target_property(folder ${target} SOURCE_DIR)
  get_target_property(visibility ${target} CXX_VISIBILITY_PRESET)
  cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
  set(kind "")
  if(visibility AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  elseif(NOT sources MATCHES "\\.cpp" OR NOT libraries MATCHES "house" OR folder MATCHES "^compat")
  elseif(type STREQUAL EXECUTABLE)
    if(libraries MATCHES "GTest::" AND NOT folder STREQUAL tests/simulation)
      set(kind test_headers)
    endif()
  elseif(NOT type MATCHES "^(STATIC|SHARED|OBJECT)_LIBRARY$"
      OR (folder MATCHES "^tests" AND NOT folder STREQUAL tests/simulation))
  elseif(libraries MATCHES "fmt::fmt")
    set(kind fmt_headers)
  else()
    set(kind library_headers)
  endif()
  set(${result} "${kind}" PARENT_SCOPE)
endfunction()

# Gives each target the headers of its kind. To be called last.
function(precompile_headers)
  targets_below(${PROJECT_SOURCE_DIR} targets)
  precompiled_target(library_headers "" -fPIC ${precompiled_for_libraries})
  precompiled_target(fmt_headers fmt::fmt -fPIC ${precompiled_for_fmt})
  if(BLKSCOPE_TESTS)
    find_package(GTest REQUIRED)
    get_property(options DIRECTORY ${PROJECT_SOURCE_DIR}/tests PROPERTY COMPILE_OPTIONS)
    precompiled_target(test_headers GTest::gtest "-fPIE;${options}" ${precompiled_for_tests})
  endif()
  foreach(target ${targets})
    precompiled_kind(${target} kind)
    if(kind STREQUAL test_headers OR (kind AND NOT BLKSCOPE_PRECOMPILED STREQUAL "TESTS"))
      use_precompiled(${target} ${kind})
    endif()
  endforeach()
endfunction()
