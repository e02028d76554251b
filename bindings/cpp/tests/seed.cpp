// Makes the workflow `draft`, which the hello host runs.
#include <wfstudio.hpp>

#include "check.hpp"

int main() {
    studio::Engine engine{config("studio.sqlite")};
    engine.call(studio::op::workflow_save, workflow("draft", echo_node()));
}
