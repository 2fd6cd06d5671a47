// A peer, not a floor: what a nanobind function pays to take an array as an argument. Built only where nanobind is.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace nb = nanobind;

NB_MODULE(nanobind_peer, m) {
  m.def("take", [](nb::ndarray<nb::ro>) {});
}
