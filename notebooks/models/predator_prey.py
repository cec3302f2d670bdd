"""Predator and prey: the Lotka–Volterra equations fitted to the pelts of the Hudson's Bay Company.

``hudson_bay.csv`` holds thousands of hare and lynx pelts per year, 1900 to 1920 (as given by
Hewitt, *The Conservation of the Wild Life of Canada*, 1921).  The equations are integrated by
classical Runge–Kutta steps, so the gradient goes back through some thousands of operations.

    gradcheck notebooks/models/predator_prey.py:loss --input 'rates=[0.55, 0.028, 0.84, 0.026]' \\
              --input 'start=[34.0, 5.9]' --input 'observed=hudson_bay.csv[hare,lynx]'
"""

import numpy as np

STEPS_PER_YEAR = 4


def growth(hare, lynx, rates):
    """Time derivatives of both populations; rates are per year."""
    births, eaten, deaths, fed = rates
    return births * hare - eaten * hare * lynx, fed * hare * lynx - deaths * lynx


def step(hare, lynx, rates, dt):
    """One classical Runge–Kutta step of length dt, in years."""
    h1, l1 = growth(hare, lynx, rates)
    h2, l2 = growth(hare + dt / 2 * h1, lynx + dt / 2 * l1, rates)
    h3, l3 = growth(hare + dt / 2 * h2, lynx + dt / 2 * l2, rates)
    h4, l4 = growth(hare + dt * h3, lynx + dt * l3, rates)
    return hare + dt / 6 * (h1 + 2 * h2 + 2 * h3 + h4), lynx + dt / 6 * (l1 + 2 * l2 + 2 * l3 + l4)


def simulate(rates, start, years):
    """Both populations in every year, (years, 2), from a start in the first."""
    rates = rates[0], rates[1], rates[2], rates[3]
    hare, lynx = start[0], start[1]
    course = [np.stack([hare, lynx])]
    for _ in range(years - 1):
        for _ in range(STEPS_PER_YEAR):
            hare, lynx = step(hare, lynx, rates, 1.0 / STEPS_PER_YEAR)
        course.append(np.stack([hare, lynx]))
    return np.stack(course)


def loss(rates, start, observed):
    """Mean squared error of the logarithms: pelts vary by factors, not by numbers."""
    course = simulate(rates, start, len(observed))
    return np.mean((np.log(course) - np.log(observed)) ** 2)
