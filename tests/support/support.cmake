# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# What test programs share: link gander_test_support, include "support/...". A test folder includes
# this file; the first one makes the targets.
include_guard(GLOBAL)

# A second process for tests that need one: see peer.cpp for what it can be asked to do.
add_executable(gander_test_peer
    "${CMAKE_CURRENT_LIST_DIR}/peer.cpp"
    "${CMAKE_CURRENT_LIST_DIR}/peer_fork.cpp")
target_link_libraries(gander_test_peer PRIVATE
    gander::gander Boost::json SQLite::SQLite3 Threads::Threads)
target_include_directories(gander_test_peer PRIVATE "${PROJECT_SOURCE_DIR}/tests")

add_library(gander_test_support STATIC
    "${CMAKE_CURRENT_LIST_DIR}/child.cpp"
    "${CMAKE_CURRENT_LIST_DIR}/fault_vfs.cpp"
    "${CMAKE_CURRENT_LIST_DIR}/raw_db.cpp"
    "${CMAKE_CURRENT_LIST_DIR}/temp.cpp")
target_include_directories(gander_test_support PUBLIC "${PROJECT_SOURCE_DIR}/tests")
target_link_libraries(gander_test_support PUBLIC gander::gander GTest::gtest SQLite::SQLite3)
target_compile_definitions(gander_test_support
    PRIVATE
        GANDER_TEST_PEER="$<TARGET_FILE:gander_test_peer>"
        GANDER_TEST_PYTHON="${GANDER_TEST_PYTHON}"
        GANDER_TEST_SQL_PY="${CMAKE_CURRENT_LIST_DIR}/sql.py")
add_dependencies(gander_test_support gander_test_peer)
