// pybind11 bindings of the recorder of CPU noise (detours).
#include "binding_helpers.h"

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <vector>

#include "record/detours.h"

namespace py = pybind11;
using jf::record::Count;
using jf::record::Recorder;

namespace {

py::dict to_dict(const jf::record::Calibration& calibration) {
  py::dict dict;
  dict["bare"] = jf::as_array(calibration.bare);
  dict["with_work"] = jf::as_array(calibration.with_work);
  dict["work"] = calibration.work;
  dict["ns_per_count"] = calibration.ns_per_count;
  return dict;
}

py::dict to_dict(const jf::record::Recording& recording) {
  const auto n = static_cast<py::ssize_t>(recording.detours.size());
  py::array_t<Count> detours({n, py::ssize_t{2}});
  auto at = detours.mutable_unchecked<2>();
  for (py::ssize_t i = 0; i < n; ++i) {
    at(i, 0) = recording.detours[static_cast<std::size_t>(i)].start;
    at(i, 1) = recording.detours[static_cast<std::size_t>(i)].taken;
  }
  py::list moments;
  for (const auto& moment : recording.moments)
    moments.append(py::make_tuple(moment.count, moment.ns, moment.width));
  py::dict dict;
  dict["detours"] = detours;
  dict["begin"] = recording.begin;
  dict["end"] = recording.end;
  dict["iterations"] = recording.iterations;
  dict["smallest"] = recording.smallest;
  dict["write_time"] = recording.write_time;
  dict["full"] = recording.full;
  dict["moved_to"] = recording.moved_to;
  dict["moments"] = moments;
  dict["faults"] = recording.faults;
  dict["preemptions"] = recording.preemptions;
  return dict;
}

}  // namespace

void jf::bind_record(py::module_& m) {
  m.attr("counter") = jf::record::kCounter;
  m.def("read_counter", &jf::record::read_counter);
  const auto unlocked = py::call_guard<py::gil_scoped_release>();
  py::class_<Recorder>(m, "Recorder")
      .def(py::init<int, std::size_t, std::int64_t>(), py::kw_only(), py::arg("cpu"),
           py::arg("capacity"), py::arg("quantum_ns") = 0, unlocked)
      .def("quiet",
           [](Recorder& self) {
             {
               const py::gil_scoped_release release;  // while it waits
               self.calibration();
             }
             return to_dict(self.calibration());
           })
      .def("go", &Recorder::go, py::kw_only(), py::arg("limit"), py::arg("begin"),
           py::arg("length"), unlocked)
      .def("wait", &Recorder::wait, py::arg("seconds"), unlocked)
      .def("stop", &Recorder::stop, unlocked)
      .def_property_readonly("count", &Recorder::count)
      .def("recording", [](Recorder& self) {
        if (!self.wait(0)) throw std::invalid_argument("it has not ended yet");
        return to_dict(self.recording());
      });
}
