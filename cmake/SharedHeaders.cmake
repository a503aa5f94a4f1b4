# Precompiles headers that take longer to parse than most files that include them. Targets with equal flags share them: tests,
# and libraries of HEADROOM_HARDLY_COMPUTES. ccache needs an option for precompiled headers.
set(HEADROOM_SHARING_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
if(HEADROOM_SHARING_LAUNCHER MATCHES "ccache")
  list(PREPEND HEADROOM_SHARING_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros)
endif()

function(headroom_launch_with_headers target)
  set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER "${HEADROOM_SHARING_LAUNCHER}")
endfunction()

# headroom_share_headers(<target> <header>...): precompiles the headers for this target and for targets that reuse them.
function(headroom_share_headers target)
  headroom_launch_with_headers(${target})
  target_precompile_headers(${target} PRIVATE ${ARGN})
endfunction()

# headroom_take_headers(<target> FROM <other>): reuses the precompiled headers of <other>.
function(headroom_take_headers target from other)
  headroom_launch_with_headers(${target})
  target_precompile_headers(${target} REUSE_FROM ${other})
endfunction()
