# Headers that cost more to read than most files that include them are compiled once, for targets of the same flags, all of
# which are of HEADROOM_HARDLY_COMPUTES or tests. ccache must be told that precompiled headers are meant.
set(HEADROOM_SHARING_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
if(HEADROOM_SHARING_LAUNCHER MATCHES "ccache")
  list(PREPEND HEADROOM_SHARING_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros)
endif()

function(headroom_launch_with_headers target)
  set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER "${HEADROOM_SHARING_LAUNCHER}")
endfunction()

# headroom_share_headers(<target> <header>...): compiles the headers, for this target and those that take them from it.
function(headroom_share_headers target)
  headroom_launch_with_headers(${target})
  target_precompile_headers(${target} PRIVATE ${ARGN})
endfunction()

# headroom_take_headers(<target> FROM <other>)
function(headroom_take_headers target from other)
  headroom_launch_with_headers(${target})
  target_precompile_headers(${target} REUSE_FROM ${other})
endfunction()
