# Writes `list`: a test for each suite of `program`. See discover_unit_tests.
execute_process(COMMAND ${program} --gtest_list_tests OUTPUT_VARIABLE names COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "\n[A-Za-z0-9_/]+\\." suites "\n${names}")
set(tests "")
foreach(suite ${suites})
  string(REGEX REPLACE "^\n|\\.$" "" suite "${suite}")
  string(APPEND tests "add_test([=[${suite}]=] [=[${program}]=] [=[--gtest_filter=${suite}.*]=])\n")
endforeach()
file(WRITE ${list} "${tests}")
