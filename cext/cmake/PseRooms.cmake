# What a room's CMakeLists.txt is written with.  cext/CMakeLists.txt shows the use.

get_filename_component(PSE_ROOT "${CMAKE_CURRENT_SOURCE_DIR}/.." ABSOLUTE)
set(PSE_EXPORTS "${CMAKE_CURRENT_LIST_DIR}/extension.map")

# Take up the directory of one room.  The target room_<name> builds all of it and nothing else.
function(pse_room name)
  set(PSE_ROOM "${name}")
  add_custom_target(room_${name})
  add_subdirectory(${name})
endfunction()

# pse_library(NAME name SOURCES file... [LIBRARIES library...] [FLAGS flag...])
function(pse_library)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME" "SOURCES;LIBRARIES;FLAGS")
  _pse_check_sources(missing ${arg_SOURCES})
  if(missing)
    return()
  endif()
  add_library(${arg_NAME} STATIC ${arg_SOURCES})
  target_include_directories(${arg_NAME} PUBLIC "${CMAKE_CURRENT_SOURCE_DIR}")
  target_compile_options(${arg_NAME} PRIVATE ${PSE_WARNINGS} ${arg_FLAGS})
  target_link_libraries(${arg_NAME} PUBLIC ${arg_LIBRARIES})
  add_dependencies(room_${PSE_ROOM} ${arg_NAME})
endfunction()

# pse_extension(PACKAGE package NAME name SOURCES file... [LIBRARIES library...] [FLAGS flag...])
#
# A .pyx among the sources is translated: to C, or to C++ if there is a .cpp among them too.  The headers of pybind11
# are there for C++ sources.
function(pse_extension)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "PACKAGE;NAME" "SOURCES;LIBRARIES;FLAGS")
  _pse_check_sources(missing ${arg_SOURCES})
  if(missing)
    return()
  endif()
  set(target "pse_${arg_PACKAGE}${arg_NAME}")
  _pse_translate(sources ${arg_PACKAGE} ${arg_NAME} ${arg_SOURCES})
  Python_add_library(${target} MODULE WITH_SOABI ${sources})
  target_include_directories(${target} PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}")
  target_compile_options(${target} PRIVATE ${arg_FLAGS})
  target_link_libraries(${target} PRIVATE ${arg_LIBRARIES})
  if(arg_SOURCES MATCHES "\\.cpp")
    find_package(pybind11 CONFIG REQUIRED)
    target_link_libraries(${target} PRIVATE pybind11::headers)
  endif()
  # The templates of C++'s library would be seen by all: other extensions could get these instead of their own.
  target_link_options(${target} PRIVATE "LINKER:--version-script=${PSE_EXPORTS}")
  set_target_properties(${target} PROPERTIES OUTPUT_NAME "${arg_NAME}" LINK_DEPENDS "${PSE_EXPORTS}")
  _pse_place(${target} ${arg_PACKAGE})
  add_dependencies(room_${PSE_ROOM} ${target})
endfunction()

# pse_program(PACKAGE package NAME name SOURCES file...)
#
# A program that the package executes, beside its Python files.
function(pse_program)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "PACKAGE;NAME" "SOURCES")
  _pse_check_sources(missing ${arg_SOURCES})
  if(missing)
    return()
  endif()
  add_executable(${arg_NAME} ${arg_SOURCES})
  target_compile_options(${arg_NAME} PRIVATE ${PSE_WARNINGS})
  _pse_place(${arg_NAME} ${arg_PACKAGE})
  add_dependencies(room_${PSE_ROOM} ${arg_NAME})
endfunction()

# Replace every .pyx of a source list by the C or C++ file that Cython makes of it.  Cython is run as a module of the
# Python that the extension is for: a program of that name on PATH may belong to another environment.
function(_pse_translate out package name)
  set(sources ${ARGN})
  set(language C)
  # Cython's own list of dependencies leaves out the declarations that belong to the .pyx itself.
  set(declarations "${PSE_ROOT}/pse/${package}/${name}.pxd")
  if(NOT EXISTS "${declarations}")
    set(declarations)
  endif()
  if(sources MATCHES "\\.cpp")
    set(language CXX)
  endif()
  foreach(source IN LISTS sources)
    if(source MATCHES "\\.pyx$")
      include(UseCython)
      cython_transpile(${source} LANGUAGE ${language} MODULE_NAME "pse.${package}.${name}"
                       INCLUDE_DIRECTORIES "${PSE_ROOT}" DEPENDS ${declarations}
                       CYTHON_ARGS "-3" OUTPUT_VARIABLE generated)
      list(TRANSFORM sources REPLACE "^${source}$" "${generated}")
    endif()
  endforeach()
  set(${out} ${sources} PARENT_SCOPE)
endfunction()

# Put an extension, or a program, where Python finds it: beside its package's files in development, into the wheel otherwise.
function(_pse_place target package)
  if(PSE_IN_TREE)
    set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${PSE_ROOT}/pse/${package}"
                                               RUNTIME_OUTPUT_DIRECTORY "${PSE_ROOT}/pse/${package}")
  else()
    install(TARGETS ${target} DESTINATION "pse/${package}" COMPONENT ${PSE_ROOM})
  endif()
endfunction()

# Name the sources that are not there.  That ends a wheel's build; in development it only skips what needs them, so
# that a room under construction doesn't keep the others from being built.
function(_pse_check_sources out)
  set(missing)
  foreach(source IN LISTS ARGN)
    if(NOT EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${source}")
      list(APPEND missing "${PSE_ROOM}/${source}")
    endif()
  endforeach()
  if(missing AND NOT PSE_IN_TREE)
    message(FATAL_ERROR "cext/${missing} is listed but does not exist")
  elseif(missing)
    message(WARNING "cext/${missing} is listed but does not exist: what it belongs to is left out")
  endif()
  set(${out} "${missing}" PARENT_SCOPE)
endfunction()
