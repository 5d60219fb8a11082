# The compiler from Debian 12's packages, for machines without ROCm: sets WICK_HIP_COMPILER and `compiler_flags`.
#
# It is clang 19, since clang 15, which Debian's HIP 5.2.3 comes with, does not know gfx942. Debian's device libraries know
# neither gfx942 nor gfx1100; what they lack for the two is a file each that holds the target's number, which is made here.
# The code is complete, but only ROCm 6 or newer has devices to run it on.
find_program(WICK_HIP_COMPILER NAMES clang++-19 REQUIRED)
set(libraries /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/amdgcn/bitcode)
set(completed ${CMAKE_CURRENT_BINARY_DIR}/bitcode)
# Code objects of version 4: the newest that Debian's own runtime loads, and newer ones load them as well.
set(compiler_flags --rocm-path=/usr --rocm-device-lib-path=${completed} -mcode-object-version=4)

# isa_library(TARGET NUMBER): the target's number, as the device libraries look it up.
function(isa_library target number)
  set(name ${completed}/oclc_isa_version_${target})
  file(WRITE ${name}.ll "target triple = \"amdgcn-amd-amdhsa\"\n"
    "@__oclc_ISA_version = linkonce_odr protected local_unnamed_addr addrspace(4) constant i32 ${number}, align 4\n")
  execute_process(COMMAND ${WICK_HIP_COMPILER} -x ir --target=amdgcn-amd-amdhsa -nogpulib -emit-llvm -c -o ${name}.bc
    ${name}.ll COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(GLOB files ${libraries}/*.bc)
if(NOT files)
  message(FATAL_ERROR "WICK_HIP is ON, but there is neither ${WICK_HIP_ROCM} nor Debian's rocm-device-libs")
endif()
file(MAKE_DIRECTORY ${completed})
foreach(file ${files})
  get_filename_component(name ${file} NAME)
  file(CREATE_LINK ${file} ${completed}/${name} SYMBOLIC)
endforeach()
isa_library(942 9402)
isa_library(1100 11000)
