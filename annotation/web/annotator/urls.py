"""The addresses of an annotator's pages, below /tasks/."""

from django.urls import path

from annotation.web.annotator.earnings import earnings_page
from annotation.web.annotator.own_answers import answer_again, answer_list
from annotation.web.annotator.practice import practice
from annotation.web.annotator.task_texts import consent_page, country_page, instructions_page
from annotation.web.annotator.tasks import task, task_list, test_begin

urlpatterns = [
    path("", task_list, name="tasks"),
    path("earnings/", earnings_page, name="earnings"),
    path("<slug:name>/consent/", consent_page, name="task_consent"),
    path("<slug:name>/country/", country_page, name="task_country"),
    path("<slug:name>/<slug:kind>/", task, name="task"),
    path("<slug:name>/<slug:kind>/answers/", answer_list, name="task_answers"),
    path("<slug:name>/<slug:kind>/answers/<int:assignment>/", answer_again, name="task_answer_again"),
    path("<slug:name>/<slug:kind>/instructions/", instructions_page, name="task_instructions"),
    path("<slug:name>/<slug:kind>/practice/", practice, name="task_practice"),
    path("<slug:name>/<slug:kind>/test/", test_begin, name="task_test"),
]
