# Compiler and linker settings that hold for every room.

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)

set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

set(CMAKE_C_FLAGS_RELEASE "-O2 -g0 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g0 -DNDEBUG")

# The build environment's library directories must not end up in RUNPATH: what an extension needs lies beside it.
set(CMAKE_INSTALL_RPATH "$ORIGIN")
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH OFF)

# Warnings are for our own C; what Cython generates is not ours to tidy.
set(PSE_WARNINGS -Wall -Wextra -Wshadow -Wundef $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>)

if(PSE_SANITIZE)
  add_compile_options(-fsanitize=${PSE_SANITIZE} -fno-omit-frame-pointer -g)
  add_link_options(-fsanitize=${PSE_SANITIZE})
endif()
