# Debian's hardening flags: a buffer overflow ends the process and does not run an attacker's code. They apply to programs,
# libraries and modules, not to tests. tests/packaging/check_binaries.py checks the built files.
option(HEADROOM_HARDENED "Build with stack protector, _FORTIFY_SOURCE, -fcf-protection and immediate binding" ON)
if(NOT HEADROOM_HARDENED OR HEADROOM_SANITIZE)
  return()
endif()
set(hardened $<NOT:$<BOOL:$<TARGET_PROPERTY:HEADROOM_IS_TEST>>>)
set(protections -fstack-protector-strong -fstack-clash-protection)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND protections -fcf-protection)
endif()
add_compile_options("$<$<AND:${hardened},$<COMPILE_LANGUAGE:CXX>>:${protections};-Wformat;-Werror=format-security>")
# _FORTIFY_SOURCE needs optimised code, which configuration Debug may lack.
add_compile_options("$<$<AND:${hardened},$<COMPILE_LANGUAGE:CXX>,$<NOT:$<CONFIG:Debug>>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
# Protects the CPU code in kernels' sources. Leaves out _FORTIFY_SOURCE, whose functions cannot be compiled for a GPU.
list(JOIN protections , of_cpu)
add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${of_cpu}>")
add_link_options("$<${hardened}:LINKER:-z,relro,-z,now>")
