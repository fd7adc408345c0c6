#include <boost/system/system_error.hpp>
#include <csignal>
#include <system_error>
#include <utility>

#include "leaf/export.hpp"
#include "leaf/version.hpp"
#include "serve/serve.hpp"
#include "serve/server.hpp"

namespace {

void run(leafctl::serve::Options options) {
  // Where a client has gone, writing fails and that is all.
  std::signal(SIGPIPE, SIG_IGN);
  leafctl::serve::Server::block_signals();
  try {
    leafctl::serve::Server(std::move(options)).run();
  } catch (const boost::system::system_error& error) {
    // The program, which does without Boost, tells a shortage by its code.
    throw std::system_error(error.code(), "cannot serve");
  }
}

}  // namespace

extern "C" LEAF_EXPORT const leafctl::serve::Module leafctl_serve_module;
const leafctl::serve::Module leafctl_serve_module{.built_with = LEAF_VERSION, .run = run};
