# cmake -DBUILD=<thrum's build> -DHAS_TLS=<bool> -DWORK=<folder> -P check.cmake: installs thrum, and finds it with and without OpenSSL.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)

function(find_it name)
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${WORK}/${name} -DCMAKE_PREFIX_PATH=${WORK}/prefix ${ARGN}
    COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
endfunction()

find_it(without_openssl -DWITH_TLS=OFF -DCMAKE_DISABLE_FIND_PACKAGE_OpenSSL=ON)
if(HAS_TLS)
  find_it(with_openssl -DWITH_TLS=ON)
endif()
file(REMOVE_RECURSE ${WORK})
